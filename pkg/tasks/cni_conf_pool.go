package tasks

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"path"
	"slices"
)

// Pool is where host-local records the addresses that it gave to pods: a file for each, whose first
// line is the id of the pod's sandbox.
type Pool struct {
	Dir  string
	sets []poolSet
}

// poolSet is one set of ranges: a pod gets one address of each set.
type poolSet struct {
	ranges   []addressRange
	gateways int // addresses of the ranges that no pod gets
}

// Pool returns the addresses that a conf gives to pods by host-local; false: it gives none, or its
// conf does not say which.
func (c CNIConf) Pool() (Pool, bool) {
	for _, p := range c.Plugins {
		var conf hostLocalConf
		if p.addresses() != hostLocal || json.Unmarshal(p.IPAM, &conf) != nil {
			continue
		}
		pool := Pool{Dir: path.Join(cmp.Or(conf.DataDir, "/var/lib/cni/networks"), c.Name)}
		for _, set := range conf.sets() {
			var out poolSet
			for _, r := range set {
				bounds, err := r.bounds()
				if err != nil {
					return Pool{}, false // refused has the reason
				}
				out.ranges = append(out.ranges, bounds)
				if bounds.overlaps(r.gateway()) {
					out.gateways++
				}
			}
			pool.sets = append(pool.sets, out)
		}
		if len(pool.sets) > 0 {
			return pool, true
		}
	}
	return Pool{}, false
}

// Exhausted returns the files of the first set of ranges that has no address left for another pod;
// nil: each has one. files are the names in Dir.
func (p Pool) Exhausted(files []string) []string {
	for _, set := range p.sets {
		taken := slices.DeleteFunc(slices.Clone(files), func(name string) bool {
			a, err := netip.ParseAddr(name)
			return err != nil || !slices.ContainsFunc(set.ranges, addressRange{a, a}.overlaps)
		})
		if set.full(len(taken) + set.gateways) {
			return taken
		}
	}
	return nil
}

// full reports whether the ranges have no more addresses than are taken.
func (s poolSet) full(taken int) bool {
	for _, r := range s.ranges {
		for a := r.from; a.IsValid() && a.Compare(r.to) <= 0; a = a.Next() {
			if taken--; taken < 0 {
				return false
			}
		}
	}
	return true
}

// gateway returns the address that no pod gets: the first one of the subnet, unless the conf names
// another.
func (r hostLocalRange) gateway() addressRange {
	gateway, _ := netip.AddrFromSlice(r.Gateway)
	if !gateway.IsValid() {
		first, _ := netip.AddrFromSlice(r.Subnet.IP)
		gateway = first.Unmap().Next()
	}
	return addressRange{gateway.Unmap(), gateway.Unmap()}
}
