package inbound

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
)

// peers is how many nodes knock for one: not all of them run an agent, or are up.
const peers = 3

// Peers are those of the nodes that knock for one, best first. That a node comes or goes changes
// who knocks for few others.
func Peers(names []string, asker string) []string {
	score := map[string]uint64{}
	for _, name := range names {
		if name != asker {
			score[name] = rank(asker, name)
		}
	}
	list := slices.SortedFunc(maps.Keys(score),
		func(a, b string) int { return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b)) })
	return list[:min(len(list), peers)]
}

// Askers are those of the nodes for which one knocks: about as many as [Peers] of each.
func Askers(names []string, peer string) (list []string) {
	for _, asker := range names {
		if asker != peer && among(names, asker, peer) {
			list = append(list, asker)
		}
	}
	return list
}

// among says that a peer is one of an asker's. It looks no further than until it is known.
func among(names []string, asker, peer string) bool {
	own, before := rank(asker, peer), 0
	for _, name := range names {
		if name == asker || name == peer {
			continue
		}
		if other := rank(asker, name); other > own || other == own && name < peer {
			if before++; before == peers {
				return false
			}
		}
	}
	return true
}

// rank is how good a peer is for an asker: any number will do that both compute.
func rank(asker, peer string) uint64 {
	sum := sha256.Sum256([]byte(asker + "\x00" + peer))
	return binary.BigEndian.Uint64(sum[:])
}
