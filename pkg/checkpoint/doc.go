// Package checkpoint makes sure that no change cuts the node off for good.
//
// Before the first change of a pass that may cut the node off, it writes to disk the state of
// everything that the pass changes, with a copy of this program. It also makes the probes, and
// records those that pass. A transient timer and a unit of the next boot run the undo from the
// copy. So does a path unit as soon as this process is gone (StartWhenGone of package systemd).
// After the change the same probes must pass again. Then everything is removed, except the copy if
// a daemon may need it again. Otherwise the change is undone, by this process or, if it is gone, by
// systemd.
//
// A generation is bad only if the probes pass again after the undo, which shows that the change was
// the cause. Otherwise the result is inconclusive, and the generation is tried again later. See
// docs/adr/0005.
//
// # Files
//
//   - the types, and the file from which an undo works: checkpoint, journal
//   - before a change: take, arm, self_copy, rehearse, boot_unit
//   - after a change: finish, disarm, confirmation, watch_hooks
//   - the undo, and why a generation is not applied again: undo, verdict
package checkpoint

// Dir is the directory of checkpoints. Only root may read it, because a journal has contents of
// files.
const Dir = "/var/lib/netwright/checkpoint"

// The files in Dir. While the journal exists, the undo is to be run.
const (
	JournalFile = Dir + "/journal.json"
	VerdictFile = Dir + "/verdict.json"
	binaryFile  = Dir + "/agent"
	// open for writing in the process that makes the change, so that systemd notices its end
	makerFile = Dir + "/maker"
	// names what was created outside of Dir; written before that and removed after it, so that it
	// also exists before and after the journal
	scaffoldFile = Dir + "/scaffold.json"
	// reserve space for an undo on a disk that is full by then
	filesReserve   = Dir + "/reserve-files"
	verdictReserve = Dir + "/reserve-verdict"
)

// TimerName is the name of the transient timer of the undo and of its service.
const TimerName = "netwright-undo-now"

// checkName is the name of the transient service that rehearses the undo.
const checkName = "netwright-undo-check"
