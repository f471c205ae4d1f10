package tasks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/blob"
)

// Record returns the record of a task for the ledger, and the task's contents in the order of
// [Recorded.Blobs]. For a task that only waits the Kind is "": the ledger does not record it.
func Record(t Task) (Recorded, []blob.Content, error) {
	k := &kinds[t.row()]
	return k.form.record(k.name, t)
}

// Rebuild makes a task from its record. read returns a content by its digest. Archives have no
// fetcher afterwards: see [Archive.Fetch].
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

// State returns what a record wants of the host, for comparison: its parameters without
// dependencies, gate and time limit, which differ between releases.
func (r Recorded) State() string {
	var params map[string]json.RawMessage
	if json.Unmarshal(r.Params, &params) != nil {
		return fmt.Sprint(r.Kind, r.Version, string(r.Params), r.Blobs) // not JSON: compared as it is
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

// RecordWait returns the record of a wait for a CNI conf, and false for any other task. A revision
// has it, and the ledger has no entry of it, because it owns nothing on the host. The record leaves
// out what the runtime of today can do, because a rollback may meet a newer one.
func RecordWait(t Task) (Recorded, bool, error) {
	if t.row() != rowWaitConf {
		return Recorded{}, false, nil
	}
	own := value[WaitConf](t)
	own.Consumer = Consumer{}
	r, _, err := record(KindConf, &own)
	return r, err == nil, err
}

// RebuildWait makes a wait from its record.
func RebuildWait(r Recorded) (Task, error) { return rebuild[WaitConf](r, nil) }
