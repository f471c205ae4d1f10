package tasks

import (
	"context"
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/watch"
)

// KindHosts is the kind of a name in /etc/hosts: hosts:registry.test.
const KindHosts = "hosts"

const hostsFile = "/etc/hosts"

// Hosts is the address of a name in /etc/hosts, on a line of its own.
type Hosts struct {
	Meta
	Name, Address string
}

var (
	_ Task     = Hosts{}
	_ Remover  = Hosts{}
	_ Restorer = Hosts{}
)

func (Hosts) row() row { return rowHosts }

// Owns implements [Task].
func (t Hosts) Owns() []graph.Key { return []graph.Key{graph.MakeKey(KindHosts, t.Name)} }

// Plan implements [Task].
func (t Hosts) Plan(ctx context.Context, v host.View) (*Change, error) {
	have, err := t.Live(ctx, v)
	if err != nil || have == t.Address {
		return nil, err
	}
	item := Item{Key: t.Owns()[0], Op: Update, Fields: []Field{{Name: "address", Before: have, After: t.Address}}}
	if have == "" {
		item.Op = Create
	}
	return &Change{Items: []Item{item}, Reason: "address differs"}, nil
}

// Apply implements [Task].
func (t Hosts) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	return t.set(ctx, h, t.Address)
}

// Live implements [Keeper].
func (t Hosts) Live(_ context.Context, v host.View) (string, error) {
	text, err := v.Files.ReadFile(hostsFile)
	if err != nil {
		return "", fmt.Errorf("look for %s: %w", t.Name, err)
	}
	for line := range strings.Lines(string(text)) {
		if address, ok := t.on(line); ok {
			return address, nil
		}
	}
	return "", nil
}

// on says that a line is the name's.
func (t Hosts) on(line string) (address string, ok bool) {
	words := strings.Fields(line)
	if len(words) != 2 || words[1] != t.Name {
		return "", false
	}
	return words[0], true
}

// set gives the name an address; "" takes its line away.
func (t Hosts) set(ctx context.Context, h *host.Host, address string) error {
	return h.Files.EditFile(ctx, hostsFile, func(old []byte) ([]byte, error) {
		var out strings.Builder
		for line := range strings.Lines(string(old)) {
			if _, ok := t.on(line); !ok {
				out.WriteString(line)
			} else if address != "" {
				out.WriteString(address + " " + t.Name + "\n")
				address = ""
			}
		}
		if address != "" {
			out.WriteString(address + " " + t.Name + "\n")
		}
		return []byte(out.String()), nil
	})
}

// Remove implements [Remover].
func (t Hosts) Remove(ctx context.Context, h *host.Host) error { return t.set(ctx, h, "") }

// Baseline implements [Restorer].
func (t Hosts) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	live, err := t.Live(ctx, v)
	return Baseline{Live: live}, err
}

// Restored implements [Restorer].
func (t Hosts) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	return alive(ctx, v, t, b)
}

// Restore implements [Restorer].
func (t Hosts) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	return t.set(ctx, h, b.Live)
}

// inHosts is where on disk the kind's keys are.
var inHosts = disk{func(string) string { return hostsFile }, noDirs}

func watchHosts(_ Task, _ string, i *watch.Interest) { i.Paths = append(i.Paths, hostsFile) }
