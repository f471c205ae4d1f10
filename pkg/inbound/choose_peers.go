package inbound

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
)

// peers is the number of peers of a node. Some of them may be down or run no agent.
const peers = 3

// Peers returns the names of a node's peers, best first. When a node joins or leaves, the peers of
// few other nodes change.
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

// Askers returns the names of the nodes that have a node as their peer: about as many as each has
// [Peers].
func Askers(names []string, peer string) (list []string) {
	for _, asker := range names {
		if asker != peer && among(names, asker, peer) {
			list = append(list, asker)
		}
	}
	return list
}

// among reports whether a node is one of an asker's peers. It stops as soon as that is certain.
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

// rank returns the rank of a peer for an asker. Both nodes must compute the same number.
func rank(asker, peer string) uint64 {
	sum := sha256.Sum256([]byte(asker + "\x00" + peer))
	return binary.BigEndian.Uint64(sum[:])
}
