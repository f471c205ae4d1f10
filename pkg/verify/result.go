package verify

// State is how one check ended.
type State string

// The states of a check.
const (
	OK            State = "ok"
	Failed        State = "failed"
	Waiting       State = "waiting"  // only time, or somebody else, brings it
	NotApplicable State = "not here" // cannot be known on this host
)

// Result is one check: what was looked at, how it is, and where it is not well what to do next.
type Result struct {
	Check string `json:"check"` // "conf", "plugin bridge", "runtime", "sign of life"
	State State  `json:"state"`
	Seen  string `json:"seen"`
	Next  string `json:"next,omitempty"`
}

// Worst is the state that decides: failed, then waiting, then ok.
func Worst(results []Result) State {
	worst := OK
	for _, r := range results {
		if r.State == Failed || r.State == Waiting && worst == OK {
			worst = r.State
		}
	}
	return worst
}
