"""Login, second factors, sign-on and the account page."""
