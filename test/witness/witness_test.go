package witness

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/netwright/netwright/test/rerun"
)

var (
	seedFlag = flag.Uint64("seed", 0,
		"of the documents; 0: RAPID_SEED, and where that is 0 a new one")
	only    = flag.Int("document", -1, "the number of the only document to try; -1: all")
	without = flag.String("without", "", "the overlay that the agent is built with: off, S1-1 …")
	nodes   = flag.Int("nodes", 4, "booted side by side: they mostly wait; -parallel must be above it")
)

const (
	sample  = 25  // documents in `make test`
	full    = 200 // from this number on the shares and the rules are judged
	control = 100 // documents of the control
)

// documents returns how many documents are tried: NETWRIGHT_WITNESS, or a sample.
func documents(t *testing.T) int {
	t.Helper()
	said := os.Getenv("NETWRIGHT_WITNESS")
	if said == "" {
		return sample
	}
	n, err := strconv.Atoi(said)
	if err != nil || n < 1 {
		t.Fatalf("NETWRIGHT_WITNESS is %q, want how many documents to try", said)
	}
	return n
}

// seed returns the seed of this run.
func seed() uint64 {
	rapid, _ := strconv.ParseUint(os.Getenv("RAPID_SEED"), 10,
		64) // 0, and what is no number: a new one
	return cmp.Or(*seedFlag, rapid, rand.Uint64())
}

// No document costs a node its network for longer than the window and 30 s, or after a reboot, as
// an independent witness sees it. In a full run the documents are neither too tame nor too wild,
// and for each rule of the checkpoint they find a loss of the node if that rule is taken out.
func TestWitness(t *testing.T) {
	rerun.Never(t, "the safety witness: what it sees once is a node lost")
	r := run{world: NewWorld(t), layers: newLayers(t), clock: NewClock(t), seed: seed()}
	t.Logf("seed %d", r.seed)
	if *only >= 0 {
		out := r.all(t, *without, *only, *only+1)
		t.Logf("%s\n%s", table(out), told(out[0]))
		complain(t, lost(out))
		return
	}
	count := documents(t)
	out := r.all(t, *without, 0, count)
	t.Logf("the whole agent\n%s", table(out))
	complain(t, lost(out))
	if count < full || t.Failed() && len(out) < count {
		return
	}
	complain(t, unfit(out))
	r.control(t)
	for _, o := range Overlays {
		r.finds(t, o, out)
	}
}

// run is one run of many documents.
type run struct {
	world  World
	layers layers
	clock  *Clock
	seed   uint64
}

// all tries the documents of a range with one agent, several at once.
func (r run) all(t *testing.T, without string, from, to int) []outcome {
	t.Helper()
	return r.until(t, without, from, to, func(outcome) bool { return false })
}

// until is all, but begins no further document when one is enough.
func (r run) until(t *testing.T, without string, from, to int,
	enough func(outcome) bool) (all []outcome) {
	t.Helper()
	agent := ""
	for _, o := range append([]Overlay{Off}, Overlays...) {
		if o.Name == without {
			agent = agentWithout(t, o)
		}
	}
	if agent == "" && without != "" {
		t.Fatalf("there is no overlay %q", without)
	}
	var next, ended atomic.Int64
	next.Store(int64(from))
	var mu sync.Mutex
	t.Run(cmp.Or(without, "whole"), func(t *testing.T) {
		for i := range min(*nodes, to-from) {
			t.Run(fmt.Sprint("node-", i), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, r.layers, agent, r.clock)
				for {
					n := int(next.Add(1)) - 1
					if n >= to || ended.Load() > 0 {
						return
					}
					out := b.meet(Draw(r.world, r.seed, n))
					if enough(out) {
						ended.Add(1)
					}
					mu.Lock()
					all = append(all, out)
					mu.Unlock()
				}
			})
		}
	})
	slices.SortFunc(all, func(a, b outcome) int { return a.Number - b.Number })
	return all
}

// lost returns a complaint for each document by which the witness lost the node.
func lost(all []outcome) (complaints []string) {
	for _, out := range all {
		if out.lost != "" {
			complaints = append(complaints, told(out))
		}
	}
	return complaints
}

// told returns what happened to a document, and how to repeat it.
func told(out outcome) string {
	return fmt.Sprintf("%s: %s, %s\n%sto see it again: go test ./test/witness -count 1 -v "+
		"-run TestWitness -seed %d -document %d\nthe agent said:\n%s",
		out.Stratum, out.verdict, cmp.Or(out.lost, "kept"), out.Document, out.Seed, out.Number,
		out.said)
}

func complain(t *testing.T, complaints []string) {
	t.Helper()
	for _, c := range complaints {
		t.Error(c)
	}
}

// unfit returns what is wrong with documents that are too tame or too wild for the agent.
func unfit(all []outcome) (complaints []string) {
	for _, want := range []struct {
		verdict     verdict
		least, most int // percent
	}{{applied, leastApplied, 100}, {taken, leastUndone, 100}, {refused, 0, mostRefused}} {
		p := percent(all, func(o outcome) bool { return o.verdict == want.verdict })
		if p < want.least || p > want.most {
			complaints = append(complaints, fmt.Sprintf("%d %% of the documents are %s, want %d to %d: "+
				"draw others", p, want.verdict, want.least, want.most))
		}
	}
	return complaints
}

// tame returns what is wrong with documents that harm a node too rarely without a checkpoint.
func tame(all []outcome) (complaints []string) {
	if p := percent(all, func(o outcome) bool { return o.lost != "" }); p < leastLost {
		complaints = append(complaints, fmt.Sprintf("without any checkpoint %d %% of the documents "+
			"lose the node, want at least %d: they are too tame, and prove nothing", p, leastLost))
	}
	return complaints
}

func percent(all []outcome, is func(outcome) bool) int {
	n := 0
	for _, out := range all {
		if is(out) {
			n++
		}
	}
	return n * 100 / max(1, len(all))
}

// control runs without any checkpoint: then enough of the documents lose the node.
func (r run) control(t *testing.T) {
	t.Helper()
	out := r.all(t, Off.Name, 0, control)
	t.Logf("control, without any checkpoint\n%s", table(out))
	complain(t, tame(out))
}

// finds looks for a document by which an agent without a rule loses the node, and the complete
// agent does not.
func (r run) finds(t *testing.T, o Overlay, whole []outcome) {
	t.Helper()
	found := func(out outcome) bool { return out.lost != "" && whole[out.Number].lost == "" }
	all := r.until(t, o.Name, 0, full, found)
	at := slices.IndexFunc(all, found)
	if at < 0 {
		t.Errorf("%s: without the rule that %s, none of %d documents loses the node: draw others",
			o.Name, o.Rule, full)
		return
	}
	t.Logf("%s: the rule that %s is missed by\n%s", o.Name, o.Rule, told(all[at]))
}

// table returns a line for each stratum, and one for all.
func table(all []outcome) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "stratum\tdocuments\tapplied\tof these, undone at boot\tundone\trefused\tlost\tlongest gap\tof\t")
	line := func(name string, of []outcome) {
		count := map[verdict]int{}
		lost, atBoot, longest := 0, 0, outcome{}
		for _, o := range of {
			count[o.verdict]++
			if o.atBoot {
				atBoot++
			}
			if o.lost != "" {
				lost++
			}
			if o.gap > longest.gap {
				longest = o
			}
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t\n", name, len(of), count[applied],
			atBoot, count[taken], count[refused], lost, longest.gap.Round(100*time.Millisecond),
			longest.missed)
	}
	for _, s := range strata {
		line(s.name, slices.DeleteFunc(slices.Clone(all),
			func(o outcome) bool { return o.Stratum != s.name }))
	}
	line("all", all)
	_ = w.Flush() // into memory
	return out.String()
}
