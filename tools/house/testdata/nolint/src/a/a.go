package a

func bad() {
	println() //nolint // want `no linter ""`
	println() //nolint:errcheck // want `no linter "errcheck" runs here`
	println() //nolint:house size // want `say why rule size does not hold`
	println() //nolint:house everything is fine // want `there is no house rule "everything"`
}

func good() {
	println() //nolint:house noexit a reason of words
}
