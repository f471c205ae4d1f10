package verify

// State is the state of one check.
type State string

// The states of a check.
const (
	OK            State = "ok"
	Failed        State = "failed"
	Waiting       State = "waiting"  // only time, or another program, can bring it
	NotApplicable State = "not here" // cannot be known on this host
)

// Result is the result of one check: what was found, and what to do where it is not OK.
type Result struct {
	Check string `json:"check"` // "conf", "plugin bridge", "runtime", "sign of life"
	State State  `json:"state"`
	Seen  string `json:"seen"`
	Next  string `json:"next,omitempty"`
}

// Worst returns the worst state: failed, then waiting, then ok.
func Worst(results []Result) State {
	worst := OK
	for _, r := range results {
		if r.State == Failed || r.State == Waiting && worst == OK {
			worst = r.State
		}
	}
	return worst
}
