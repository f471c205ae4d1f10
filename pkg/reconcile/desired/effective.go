package desired

import (
	"fmt"
	"slices"
	"time"
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
		return fmt.Sprintf("generation %d (%.12s)", d.Snapshot.Generation, d.Snapshot.Digest)
	}
	which := fmt.Sprintf("generation %d", d.Snapshot.Generation)
	if d.Snapshot.Generation == 0 {
		which = fmt.Sprintf("%.12s", d.Snapshot.Digest)
	}
	return fmt.Sprintf("the last good configuration, %s, taken at %s", which, d.Taken.UTC().Format(time.RFC3339))
}
