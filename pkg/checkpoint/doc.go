// Package checkpoint keeps a change from cutting the node off for good.
//
// Before the first change of a pass that may do so, the state of everything that the pass changes
// is written down durably, with a copy of this binary, and the probes are taken that pass now. A
// transient timer, and a unit at the next boot, run the undo from that copy; so does a path unit as
// soon as this process is gone (StartWhenGone of package systemd). After the change the same probes
// must pass; then all of it is taken away again, but for the copy of a daemon that may need it
// again. Else the change is undone, by this process if it lives, by systemd if not.
//
// A generation is bad only if the probes pass again after the undo: then it
// was the change. Else nothing is known, and it is tried again later. See docs/adr/0005.
package checkpoint

// Dir is where everything of a checkpoint lives. It is private: a journal has contents of files.
const Dir = "/var/lib/netwright/checkpoint"

// The files in Dir. The journal is the checkpoint: where it is, an undo is due.
const (
	JournalFile = Dir + "/journal.json"
	VerdictFile = Dir + "/verdict.json"
	binaryFile  = Dir + "/agent"
	// open for writing in the process that makes the change: systemd notices its end
	makerFile = Dir + "/maker"
	// It says what was put beside Dir, and is there from before that until after: also where no
	// journal is there yet, or any more.
	scaffoldFile = Dir + "/scaffold.json"
	// what an undo writes has the place of these, on a disk that is full by then
	filesReserve   = Dir + "/reserve-files"
	verdictReserve = Dir + "/reserve-verdict"
)

// TimerName names the transient timer and the service that it starts.
const TimerName = "netwright-undo-now"

// checkName names the transient service that rehearses the undo.
const checkName = "netwright-undo-check"
