package tasks

// Kinds are the kinds of keys that are state: what spec.drift may name. Effects are actions, and have none.
func Kinds() []string {
	return []string{KindAddr, KindFile, KindForward, KindLink, KindModule, KindMount, KindTable, KindRoute, KindRule, KindSysctl, KindTOML, KindUnit}
}
