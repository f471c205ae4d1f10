package facts

// RuntimeUnit is the unit of a container runtime, by the name that [RuntimeFacts] has; "" where
// none is known.
func RuntimeUnit(name string) string {
	for _, kind := range runtimeKinds {
		if kind.name == name {
			return kind.unit
		}
	}
	return ""
}
