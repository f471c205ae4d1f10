package desired

import (
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/report"
)

// Because records why the last good configuration is used. A state from the store does not change.
func (d *State) Because(why error) {
	if d.Taken.IsZero() {
		return
	}
	was := d.Instead
	d.Damage = slices.DeleteFunc(d.Damage, func(text string) bool { return text == was })
	d.Instead = fmt.Sprintf("%s; this is %s", OneLine(why), d.Effective())
	d.Damage = append(d.Damage, d.Instead)
}

// Effective describes the configuration in force and since when the node has it. The text is the
// same in every pass.
func (d *State) Effective() string {
	if d.Taken.IsZero() {
		return generation.Full(d.Snapshot.Generation, d.Snapshot.Digest)
	}
	return fmt.Sprintf("the last good configuration, %s, taken at %s",
		generation.Name(d.Snapshot.Generation, d.Snapshot.Digest), report.Stamp(d.Taken))
}
