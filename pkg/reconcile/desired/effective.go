package desired

import (
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/report"
)

// Because notes why it is the last good configuration that is worked towards. What is the store's
// stays so.
func (d *State) Because(why error) {
	if d.Taken.IsZero() {
		return
	}
	was := d.Instead
	d.Damage = slices.DeleteFunc(d.Damage, func(text string) bool { return text == was })
	d.Instead = fmt.Sprintf("%s; this is %s", OneLine(why), d.Effective())
	d.Damage = append(d.Damage, d.Instead)
}

// Effective says which configuration it is, and since when the node has it. It is the same at every
// pass.
func (d *State) Effective() string {
	if d.Taken.IsZero() {
		return generation.Full(d.Snapshot.Generation, d.Snapshot.Digest)
	}
	return fmt.Sprintf("the last good configuration, %s, taken at %s",
		generation.Name(d.Snapshot.Generation, d.Snapshot.Digest), report.Stamp(d.Taken))
}
