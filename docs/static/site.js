// What scrolls sideways can be reached and scrolled with the keyboard; what fits is no stop on the way.
const WIDE = ".highlight pre, .table-wrapper, div.math, div.math-wrapper, article .chart, article .object, article .sparsehead";
const mark = () => document.querySelectorAll(WIDE).forEach((box) => {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
});
addEventListener("load", mark);
addEventListener("resize", mark);
