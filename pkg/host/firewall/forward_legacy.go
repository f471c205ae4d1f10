package firewall

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// hookForward is NF_INET_FORWARD.
const hookForward = 2

// legacyForward reads the FORWARD chains of ip_tables. It does not read a table that this namespace
// does not have: the request would create the table and load its module.
func legacyForward() ([]ForwardChain, error) {
	var out []ForwardChain
	for _, f := range legacyFamilies {
		if !f.hasForward() {
			continue
		}
		c, err := f.forward()
		if err != nil {
			return nil, fmt.Errorf("read table filter of ip_tables (%s): %w", f.name, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// LegacyForward reports whether ip_tables has a chain at the forward hook of this network
// namespace.
func LegacyForward() bool { return slices.ContainsFunc(legacyFamilies, legacyFamily.hasForward) }

// hasForward reports whether this network namespace has the table with the chain FORWARD.
func (f legacyFamily) hasForward() bool { return slices.Contains(f.tables(), "filter") }

// forward reads the chain FORWARD, up to the entry of its policy.
func (f legacyFamily) forward() (ForwardChain, error) {
	c := ForwardChain{Backend: BackendLegacy, Family: f.name, Table: "filter", Name: "FORWARD", Policy: "accept"}
	info, entries, err := f.read(c.Table)
	if err != nil {
		return c, err
	}
	for at := int(info.HookEntry[hookForward]); ; {
		e, err := f.entry(entries, at)
		if err != nil {
			return c, err
		}
		if at == int(info.Underflow[hookForward]) {
			if e.target == "" && e.verdict == legacyDrop {
				c.Policy = "drop"
			}
			return c, nil
		}
		if r, is := f.ours(e); is {
			c.ours = append(c.ours, r)
		}
		at += e.size
	}
}

// ours recognises a rule of the agent: one whole link name, the agent's comment, accept, and
// nothing else.
func (f legacyFamily) ours(e legacyEntry) (forwardRule, bool) {
	others := slices.Concat(e.head[:f.in], e.head[f.proto:f.next-4])
	in, out := f.links(e)
	r := forwardRule{link: in.whole(), way: inward}
	if in.none() {
		r = forwardRule{link: out.whole(), way: outward}
	}
	return r, r.link != "" && (in.none() || out.none()) && e.target == "" && e.verdict == legacyAccept &&
		legacyComment(e.matches) && !slices.ContainsFunc(others, func(b byte) bool { return b != 0 })
}

// legacyComment reports whether the only match of an entry is the agent's comment. A match is a
// struct xt_entry_match (size, name of 29 bytes, revision); then comes the text.
func legacyComment(m []byte) bool {
	if len(m) < 32 || int(binary.NativeEndian.Uint16(m)) != len(m) {
		return false
	}
	return unix.ByteSliceToString(m[2:31]) == "comment" && unix.ByteSliceToString(m[32:]) == forwardMark
}

// legacyRules adds (-A) or deletes (-D) the agent's rules by the program of ip_tables, because only
// that program writes a table under the lock that all writers share.
func (w *Writer) legacyRules(ctx context.Context, op, family, link string, ways []direction) error {
	program, err := w.legacyFind(ctx, family)
	if err != nil {
		return err
	}
	for _, way := range ways {
		flag := map[direction]string{inward: "-i", outward: "-o"}[way]
		args := []string{"-w", "10", "-t", "filter", op, "FORWARD", flag, link, "-m", "comment", "--comment",
			forwardMark, "-j", "ACCEPT"}
		if _, err := sys.RunLive(ctx, w.fw.live, sys.Command{Path: program, Args: args}); err != nil {
			return err
		}
	}
	return nil
}

func legacyProgram(family string) string {
	if family == "ip6" {
		return "ip6tables"
	}
	return "iptables"
}

// legacyFind finds the program that writes ip_tables. A program named iptables may be iptables-nft.
func (w *Writer) legacyFind(ctx context.Context, family string) (string, error) {
	name := legacyProgram(family)
	if path, err := sys.FindProgram(name + "-legacy"); err == nil {
		return path, nil
	}
	version, err := sys.RunLive(ctx, w.fw.live, sys.Command{Path: name, Args: []string{"--version"}})
	if err == nil && !bytes.Contains(version, []byte("nf_tables")) {
		return name, nil
	}
	return "", fmt.Errorf("the chain is one of ip_tables, which only %s-legacy can write, and it is not installed: "+
		"install it (package iptables), or set the policy of FORWARD to ACCEPT with the program that set it to DROP",
		name)
}
