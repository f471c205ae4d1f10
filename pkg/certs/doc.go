// Package certs knows certificates: how long they live and when they are renewed, how a key and a
// request for one are made, how a CA signs it, and what PEM files hold. It touches no file, no
// clock and no network: whoever calls says what time it is.
package certs
