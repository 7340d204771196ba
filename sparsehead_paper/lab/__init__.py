"""The reproduction's part of the lab: the Claims page, and the committed laws on the Law page.

claims      endpoints and the job that checks claims
laws        the laws of the results folder
extension   the object that combines them, named by the entry point "sparsehead.lab"
"""
