"""Accounts of researchers: links that set a password, second factors, single sign-on, log-ins."""
