package ledger

// LockFile is held for the length of a pass that may write.
const LockFile = "/run/netwright/lock"

// Baked says that what the ledger knows was put into an image, and that this machine never was up
// with it: nobody on it is in the way of anything.
func (l *Ledger) Baked() bool { return l.Head().Current > 0 && l.Head().Boot == "" }
