package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/generation"
)

// Intent returns a sha256 in hex of what a plan would change, on which node and with which
// configuration. A person who agrees to one plan agrees to each plan with the same intent. Keys
// that wait or are only reported are not part of it.
func (p *Plan) Intent() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q\n", p.Cluster, p.Node, p.Network, p.Digest)
	steps := p.intended()
	for _, key := range slices.Sorted(maps.Keys(steps)) {
		fmt.Fprintln(sum, steps[key])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// intended returns what each step would change, by its key. It is the same for a plan that was read
// from its JSON form.
func (p *Plan) intended() map[string]string {
	out := map[string]string{}
	for s := range p.In(Planned) {
		text, _ := json.Marshal(Step{Key: s.Key, Items: s.Items, Effects: s.Effects, Unknown: s.Unknown, Class: s.Class})
		var read Step // a plan from JSON has only what JSON can contain
		_ = json.Unmarshal(text, &read)
		text, _ = json.Marshal(read)
		out[s.Key] = string(text)
	}
	return out
}

// keysNamed is how many changed keys a text names.
const keysNamed = 5

// Stale compares the plan with one that was made now, and returns what has changed since; "":
// nothing that either plan would change.
func (p *Plan) Stale(now *Plan) string {
	switch {
	case p.Cluster != now.Cluster || p.Node != now.Node:
		return fmt.Sprintf("the plan is of node %q of cluster %q, and this is node %q of cluster "+
			"%q", p.Node, p.Cluster, now.Node, now.Cluster)
	case p.Digest != now.Digest:
		return fmt.Sprintf("the store changed: the plan is of %s, and the store has %s now",
			generation.Name(p.Generation, p.Digest), generation.Name(now.Generation, now.Digest))
	case p.Network != now.Network:
		return fmt.Sprintf("the network was %s, and is %s now", p.Network, now.Network)
	}
	then, since := p.intended(), now.intended()
	var differ []string
	for key, is := range since {
		switch was, planned := then[key]; {
		case !planned:
			differ = append(differ, key+" would change now, too")
		case was != is:
			differ = append(differ, key+" would change otherwise")
		}
	}
	for key := range then {
		if since[key] == "" {
			differ = append(differ, key+" would not change any more")
		}
	}
	if len(differ) == 0 {
		return ""
	}
	slices.Sort(differ)
	more := ""
	if len(differ) > keysNamed {
		differ, more = differ[:keysNamed], fmt.Sprintf("; and %d more", len(differ)-keysNamed)
	}
	return "the host changed: " + strings.Join(differ, "; ") + more
}

// nameAndDigest returns the name of a configuration, always with its digest.
func nameAndDigest(number int64, digest string) string {
	name := generation.Name(number, digest)
	if number != 0 {
		name += ", " + digest[:min(len(digest), 12)]
	}
	return name
}
