"""Reports: estimates, contrasts, exclusions, parts and provenance, and how they are written.

A report is a plain dictionary that JSON can hold (`build.report_of`); everything that shows or
writes one (`writers`, `page`) needs neither pandas nor a database.
"""
