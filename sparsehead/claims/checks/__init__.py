"""One function per claim: recompute it on small cases through the library, and say what came out."""
