package discover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile/desired"
)

// Answers are what the daemon learned between passes from the Kubernetes API, EC2 and the instance
// metadata. A pass that has them asks none of these, so it waits for none of them. Answers do not
// change after [Sources.Ask] has returned.
type Answers struct {
	nodes    map[string]nodesAnswer // by the name of this node
	instance *host.Instance         // nil: it was not asked for, or there was no answer
	problems []string               // why there was no answer
	routes   *network.RouteTable    // nil: not asked for
	ec2      EC2                    // repeats the answers of EC2; nil: EC2 was not asked
}

// Same reports whether both have no answers, or only answers of the Kubernetes API and these are
// equal. Answers of a cloud count as different.
func (a *Answers) Same(b *Answers) bool {
	quiet := func(a *Answers) bool {
		return a != nil && a.instance == nil && a.routes == nil && a.ec2 == nil && len(a.problems) == 0
	}
	return quiet(a) && quiet(b) && maps.EqualFunc(a.nodes, b.nodes, func(x, y nodesAnswer) bool {
		return x.err == nil && y.err == nil && alike(x.cache, y.cache)
	})
}

// nodesAnswer is the answer of the Kubernetes API about its Nodes.
type nodesAnswer struct {
	cache ledger.APICache // the earlier cache, updated with the answer
	err   error           // why a part of the answer is missing
}

// Ask asks what the networks of these nodes leave open. The daemon calls it outside of its loop.
// Ask changes nothing and shares nothing with a pass that runs at the same time.
func (s Sources) Ask(ctx context.Context, nodes []*config.Node) *Answers {
	out := &Answers{nodes: map[string]nodesAnswer{}}
	if !s.Live || s.Host.Sandbox || !s.needsOthers(nodes) {
		return out
	}
	opt := s.Host
	opt.Stamps = nil
	v, err := host.OpenBrief(opt)
	if err != nil {
		return out // the pass reports it
	}
	defer v.Close() // only read from
	for _, n := range nodes {
		if want := desired.WantsOfNodes(n); want.Own && s.API != nil {
			out.nodes[n.Name] = s.askNodes(ctx, n.Name, v.View(), want)
		}
		learnInstance(ctx, n, v.View())
		out.instance, out.problems = v.Facts.Instance, v.Facts.Problems
		if s.EC2 == nil || !wantsEC2(n) {
			continue
		}
		out.ec2 = askEC2(ctx, s.EC2, n, out.instance)
		if countsRoutes(n) && v.Facts.Cloud == "aws" {
			table := routes(ctx, s.EC2, out.instance)
			out.routes = &table
		}
	}
	return out
}

// needsOthers reports whether there is anything to ask.
func (s Sources) needsOthers(nodes []*config.Node) bool {
	return slices.ContainsFunc(nodes, func(n *config.Node) bool {
		return desired.WantsOfNodes(n).Own && s.API != nil || wantsEC2(n) || network.ENIPods(n)
	})
}

// askNodes asks the Kubernetes API, as [Sources.ask] does.
func (s Sources) askNodes(ctx context.Context, name string, v host.View, want network.NodesWanted) nodesAnswer {
	learnt, err := ledger.LoadAPICache(v.Files)
	if err != nil || learnt.Node != name { // the pass reports a damaged cache
		learnt = ledger.APICache{Node: name}
	}
	err = s.ask(ctx, name, v.Facts, want, &learnt)
	return nodesAnswer{cache: learnt, err: err}
}

// asked updates learnt with the answers that the daemon got before the pass. Without such answers
// it asks the API. With CacheOnly it only returns why the last answer was incomplete.
func (s Sources) asked(
	ctx context.Context, name string, facts *host.Facts, want network.NodesWanted, learnt *ledger.APICache,
) error {
	if s.Answers == nil {
		return s.ask(ctx, name, facts, want, learnt)
	}
	heard, ok := s.Answers.nodes[name]
	if !ok {
		return errors.New("the API was not asked yet")
	}
	if s.CacheOnly {
		return heard.err
	}
	if heard.cache.PodCIDRs != nil {
		learnt.PodCIDRs = heard.cache.PodCIDRs
	}
	if heard.err == nil && want.Peers {
		learnt.Peers = heard.cache.Peers
	}
	return heard.err
}

// ec2Answer repeats the answer that EC2's API gave before the pass. It passes changes on to the
// API, and asks the API again after a change.
type ec2Answer struct {
	EC2
	region, eni string // the interface of the answer
	on          bool
	err         error

	mu      sync.Mutex
	changed bool
}

// askEC2 asks whether the source/destination check of the primary interface is on.
func askEC2(ctx context.Context, ec2 EC2, n *config.Node, i *host.Instance) EC2 {
	out := &ec2Answer{EC2: ec2}
	if n.AWS.SourceDestCheck != config.DisableCheck || i == nil || len(i.Interfaces) == 0 {
		return out
	}
	out.region, out.eni = i.Region, i.Interfaces[0].ID
	out.on, out.err = ec2.SourceDestCheck(ctx, out.region, out.eni)
	return out
}

// SourceDestCheck implements [tasks.EC2].
func (s *ec2Answer) SourceDestCheck(ctx context.Context, region, eni string) (on bool, err error) {
	s.mu.Lock()
	changed := s.changed
	s.mu.Unlock()
	switch {
	case changed:
		return s.EC2.SourceDestCheck(ctx, region, eni)
	case region != s.region || eni != s.eni:
		return false, fmt.Errorf("EC2 was not asked about %s yet", eni)
	}
	return s.on, s.err
}

// StopSourceDestCheck implements [tasks.EC2].
func (s *ec2Answer) StopSourceDestCheck(ctx context.Context, region, eni string) error {
	s.mu.Lock()
	s.changed = true
	s.mu.Unlock()
	return s.EC2.StopSourceDestCheck(ctx, region, eni)
}
