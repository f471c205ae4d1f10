// Package certs has the functions for certificates: their validity and renewal time, keys and
// certificate requests, signing by a CA, and PEM. It uses no file, no clock and no network: the
// caller passes the time.
package certs
