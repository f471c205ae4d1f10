package tasks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/blob"
)

// Record turns a task into what the ledger keeps, and its contents, in the
// order of [Recorded.Blobs]. What only waits is not recorded: its Kind is "".
func Record(t Task) (Recorded, []blob.Content, error) {
	k := &kinds[t.row()]
	return k.form.record(k.name, t)
}

// Rebuild makes the task again. read returns a content by its digest. Archives
// come back without a fetcher: see [Archive.Fetch].
func Rebuild(r Recorded, read func(blob.Digest) ([]byte, error)) (Task, error) {
	if r.Version != recordVersion {
		return nil, fmt.Errorf("rebuild a %s of version %d: this agent knows version %d: run the agent that wrote it",
			r.Kind, r.Version, recordVersion)
	}
	for i := range kinds {
		if kinds[i].name == r.Kind && kinds[i].form.rebuild != nil {
			return kinds[i].form.rebuild(r, read)
		}
	}
	return nil,
		fmt.Errorf("rebuild a task of kind %q: this agent does not know it: run the agent that wrote it", r.Kind)
}

// State is what a record wants of the host, for comparison: its task without what comes first,
// before what it must be right, and how long it may take. Of these one release says more than
// another.
func (r Recorded) State() string {
	var params map[string]json.RawMessage
	if json.Unmarshal(r.Params, &params) != nil {
		return fmt.Sprint(r.Kind, r.Version, string(r.Params), r.Blobs) // as it is
	}
	for _, course := range []string{"After", "At", "Within"} {
		delete(params, course)
	}
	names := slices.Sorted(maps.Keys(params))
	var text strings.Builder
	fmt.Fprint(&text, r.Kind, r.Version, r.Blobs)
	for _, name := range names {
		fmt.Fprintf(&text, "%q%s", name, params[name])
	}
	return text.String()
}
