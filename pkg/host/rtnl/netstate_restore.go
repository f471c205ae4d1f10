package rtnl

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// NetMade is what a change was to make: only this, and routes and rules with
// our protocol number, is removed by [Writer.RestoreNet].
type NetMade struct {
	Links     []string      `json:"links,omitempty"`
	Addresses []LinkAddress `json:"addresses,omitempty"`
}

// LinkAddress is an address and the link that it is on.
type LinkAddress struct {
	Link   string       `json:"link"`
	Prefix netip.Prefix `json:"prefix"`
}

// RestoreNet brings the network back to what it was: it removes what was made,
// and brings back what is gone. What others made meanwhile stays. It
// goes on after an error and returns all of them. It may be retried, and
// changes nothing when all is as it was. The state must be of this boot.
func (w *Writer) RestoreNet(ctx context.Context, was NetState, made NetMade) error {
	back := restoring{w}
	var errs []error
	there := map[string]bool{}
	for _, l := range was.Links {
		there[l.Name] = true
	}
	for _, name := range made.Links {
		if !there[name] {
			errs = append(errs, w.delMade(ctx, name))
		}
	}
	errs = append(errs, back.restoreNames(ctx, was.Links))
	for _, l := range was.Links {
		errs = append(errs, back.restoreLink(ctx, l, slices.Contains(made.Links, l.Name)))
	}
	for _, l := range was.Links {
		errs = append(errs, back.restoreMaster(ctx, l))
	}
	cost, err := back.restoreAddresses(ctx, was, made.Addresses)
	errs = append(errs, err, back.restoreRules(ctx, was))
	was.Routes = slices.Concat(was.Routes, cost)
	errs = append(errs, back.restoreRoutes(ctx, was), back.restoreNeighbours(ctx, was))
	return errors.Join(errs...)
}

// restoring brings the parts of a network back.
type restoring struct{ w *Writer }

// delMade removes a link that was not there before, also one that the default route goes through by
// now: that one was not there either. A device that was plugged in meanwhile stays.
func (w *Writer) delMade(ctx context.Context, name string) error {
	rt, err := w.net.rt(ctx)
	if err != nil {
		return err
	}
	l, err := w.net.link(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove link %s: %w", name, err)
	}
	if have := linkFrom(l); have.Physical || have.Loopback {
		return nil
	}
	if err := rt.LinkDel(l); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove link %s, which the change made: %w", name, err)
	}
	return nil
}

// restoreLink gives a link its settings back, a physical one too. One that went is made again only
// if it is ours: with the number that it had, which its addresses and routes are kept by.
func (back restoring) restoreLink(ctx context.Context, was Link, ours bool) error {
	rt, err := back.w.net.rt(ctx)
	if err != nil {
		return err
	}
	l, err := back.w.net.link(ctx, was.Name)
	if errors.Is(err, fs.ErrNotExist) && ours && (was.Kind == "bridge" || was.Kind == "dummy") {
		if err := back.w.AddLink(ctx, was); err != nil {
			return fmt.Errorf("bring link %s back: %w", was.Name, err)
		}
		l, err = back.w.net.link(ctx, was.Name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("bring link %s back: %w", was.Name, err)
	}
	have := linkFrom(l)
	var errs []error
	if have.MTU != was.MTU {
		errs = append(errs, rt.LinkSetMTU(l, was.MTU))
	}
	if mac, err := net.ParseMAC(was.MAC); err == nil && have.MAC != was.MAC && !was.Loopback {
		errs = append(errs, rt.LinkSetHardwareAddr(l, mac))
	}
	if mask := was.comparedFlags(); (have.Flags^was.flags())&mask != 0 {
		errs = append(errs, setFlags(have.Index, was.flags()&mask, mask))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("bring link %s back to what it was: %w", was.Name, err)
	}
	return nil
}

// settableFlags are those that can be set (net/core/dev.c, __dev_change_flags). The kernel sets the
// others.
const settableFlags = unix.IFF_UP | unix.IFF_NOARP | unix.IFF_MULTICAST | unix.IFF_ALLMULTI | unix.IFF_PROMISC | unix.IFF_DYNAMIC |
	unix.IFF_DEBUG | unix.IFF_NOTRAILERS | unix.IFF_PORTSEL | unix.IFF_AUTOMEDIA

// flags are those that the link had, and comparedFlags which of them are known and can be set:
// journals of earlier releases say whether it was up, and no more.
func (l Link) flags() uint32 {
	if l.Flags == 0 && l.Up {
		return unix.IFF_UP
	}
	return l.Flags
}

func (l Link) comparedFlags() uint32 {
	if l.Flags == 0 {
		return unix.IFF_UP
	}
	return settableFlags
}

// setFlags sets those flags of a link that the mask names.
func setFlags(index int, flags, mask uint32) error {
	m := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(m[4:], uint32(index))
	binary.NativeEndian.PutUint32(m[8:], flags)
	binary.NativeEndian.PutUint32(m[12:], mask)
	return send("set the flags of a link", unix.RTM_NEWLINK, 0, m)
}

// restoreMaster makes a link the port of what it was a port of, if both are there: a file of
// networkd may have put the uplink into a bridge.
func (back restoring) restoreMaster(ctx context.Context, was Link) error {
	rt, err := back.w.net.rt(ctx)
	if err != nil {
		return err
	}
	l, err := back.w.net.link(ctx, was.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("bring link %s back: %w", was.Name, err)
	}
	want := 0
	if was.Master != "" {
		master, err := back.w.net.link(ctx, was.Master)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("bring link %s back to %s: %w", was.Name, was.Master, err)
		}
		want = master.Attrs().Index
	}
	if l.Attrs().MasterIndex == want {
		return nil
	}
	err = rt.LinkSetMasterByIndex(l, want) // 0: of none
	// A bond (EPERM) and a team (EBUSY) refuse a link that is up.
	if (errors.Is(err, unix.EPERM) || errors.Is(err, unix.EBUSY)) && rt.LinkSetDown(l) == nil {
		err = errors.Join(rt.LinkSetMasterByIndex(l, want), setFlags(l.Attrs().Index, was.flags()&unix.IFF_UP, unix.IFF_UP))
	}
	if err != nil {
		return fmt.Errorf("bring link %s back to its master %q: %w", was.Name, was.Master, err)
	}
	return nil
}

func (back restoring) restoreRules(ctx context.Context, was NetState) error {
	now, err := back.w.net.NetState(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range missing(now.Rules, was.Rules) {
		ours := false
		sys.EachAttribute(m[ruleHead:], func(kind uint16, _, value []byte) {
			ours = ours || kind == nl.FRA_PROTOCOL && len(value) == 1 && value[0] == RouteProtocol
		})
		if ours {
			errs = append(errs, send("remove a policy rule", unix.RTM_DELRULE, 0, m, unix.ENOENT))
		}
	}
	for _, m := range missing(was.Rules, now.Rules) {
		errs = append(errs,
			send("bring a policy rule back", unix.RTM_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, m, unix.EEXIST))
	}
	return errors.Join(errs...)
}

// restoreRoutes tries several rounds: a route by a next hop needs the one to that next hop.
func (back restoring) restoreRoutes(ctx context.Context, was NetState) error {
	now, err := back.w.net.NetState(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range missing(now.Routes, was.Routes) {
		if m[5] == RouteProtocol {
			errs = append(errs, sendRoute("remove a route", unix.RTM_DELROUTE, 0, m, unix.ESRCH))
		}
	}
	gone, flags := was.missingRoutes(now)
	hear, err := back.advertisedLinks(ctx, gone)
	errs = append(errs, err)
	for last := len(gone) + 1; len(gone) > 0 && len(gone) < last; {
		last = len(gone)
		var failed []error
		left := gone[:0]
		for _, m := range gone {
			route := onLinks(standIn(was.withLifetime(m), hear), now.Links)
			if err := sendRoute("bring a route back", unix.RTM_NEWROUTE, flags[string(m)], route, unix.EEXIST,
				unix.ENODEV); err != nil {
				left, failed = append(left, m), append(failed, err)
			}
		}
		if gone = left; len(gone) == last {
			errs = append(errs, failed...)
		}
	}
	if back.w.log != nil {
		back.w.log.Info("network brought back", zap.Int("routes not brought back", len(gone)))
	}
	return errors.Join(errs...)
}

// withLifetime is a route's message with the rest of its life.
func (s NetState) withLifetime(m []byte) []byte {
	i := slices.IndexFunc(s.Routes, func(r []byte) bool { return bytes.Equal(r, m) })
	if i < 0 || i >= len(s.Expires) || s.Expires[i] == 0 {
		return m
	}
	out := binary.NativeEndian.AppendUint16(bytes.Clone(m), 8)
	out = binary.NativeEndian.AppendUint16(out, unix.RTA_EXPIRES)
	return binary.NativeEndian.AppendUint32(out, s.Expires[i])
}

// missing are the messages of a that b has not.
func missing(a, b [][]byte) [][]byte {
	have := map[string]bool{}
	for _, m := range b {
		have[string(m)] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(m []byte) bool { return have[string(m)] })
}

// send sends a message that was read. Errors among fine say that it is so already.
func send(what string, kind, flags int, m []byte, fine ...unix.Errno) error {
	req := nl.NewNetlinkRequest(kind, flags|unix.NLM_F_ACK)
	req.AddRawData(m)
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	if err == nil || slices.ContainsFunc(fine, func(e unix.Errno) bool { return errors.Is(err, e) }) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
