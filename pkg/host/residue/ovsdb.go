package residue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// ovsdbSocket is the socket of ovsdb-server. https://docs.openvswitch.org/en/latest/ref/ovsdb.7/
const ovsdbSocket = "/run/openvswitch/db.sock"

// ovsdbLimit limits a request and its answer. If ovs-vswitchd runs, it applies a change within this
// time.
const ovsdbLimit = 10 * time.Second

// OVS is the configuration in a database of Open vSwitch.
type OVS struct {
	Bridges []string
	Ports   map[string][]string // of bridges, by name
	// Keys are the keys of external_ids and other_config in the only row of table Open_vSwitch.
	Keys []string
}

// OVS reads the database of Open vSwitch at a socket ("": the default). It returns [fs.ErrNotExist]
// or [sys.ErrNoListener] if ovsdb-server does not run.
func (r Reader) OVS(ctx context.Context, socket string) (OVS, error) {
	if err := r.ready(ctx); err != nil {
		return OVS{}, err
	}
	db, err := r.ovsdb(ctx, socket)
	if err != nil {
		return OVS{}, err
	}
	defer db.Close()
	state, err := db.state()
	return state.OVS, err
}

// ovsdb is a connection to ovsdb-server: JSON-RPC 1.0 according to RFC 7047.
type ovsdb struct {
	net.Conn
	answers *json.Decoder
}

// ovsdb connects. It returns [fs.ErrNotExist] without a socket, [sys.ErrNoListener] if no process
// listens.
func (r Reader) ovsdb(ctx context.Context, socket string) (*ovsdb, error) {
	socket = cmp.Or(socket, ovsdbSocket)
	conn, err := r.Dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(ovsdbLimit)
	if at, set := ctx.Deadline(); set && at.Before(deadline) {
		deadline = at
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &ovsdb{Conn: conn, answers: json.NewDecoder(conn)}, nil
}

// transact runs operations on the database, all or none. It ignores echo requests of the server
// (keepalive), because the connection is short.
func (d *ovsdb) transact(operations ...any) ([]json.RawMessage, error) {
	const method = "transact"
	if err := json.NewEncoder(d).Encode(map[string]any{"method": method, "id": method,
		"params": append([]any{"Open_vSwitch"}, operations...)}); err != nil {
		return nil, fmt.Errorf("ask ovsdb-server: %w", err)
	}
	for {
		var answer struct {
			ID     any             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		err := d.answers.Decode(&answer)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, fmt.Errorf("read the answer of ovsdb-server: %w", err)
		}
		if answer.ID != method {
			continue
		}
		if text := string(answer.Error); text != "" && text != "null" {
			return nil, fmt.Errorf("ovsdb-server refuses %s: %s", method, text)
		}
		var results []json.RawMessage
		if err := json.Unmarshal(answer.Result, &results); err != nil {
			return nil, err
		}
		for _, r := range results {
			var failed struct{ Error, Details string }
			if json.Unmarshal(r, &failed) == nil && failed.Error != "" {
				return nil, fmt.Errorf("ovsdb-server refuses: %s: %s", failed.Error, failed.Details)
			}
		}
		return results, nil
	}
}

// ovsState is the part of the database that cleanup needs.
type ovsState struct {
	OVS
	uuids    map[string]string // of bridges, by name
	external []string
	other    []string
	next     int64
	current  int64
}

func (d *ovsdb) state() (ovsState, error) {
	s := ovsState{OVS: OVS{Ports: map[string][]string{}}, uuids: map[string]string{}}
	results, err := d.transact(
		map[string]any{"op": "select", "table": "Open_vSwitch", "where": []any{},
			"columns": []string{"external_ids", "other_config", "next_cfg", "cur_cfg"}},
		map[string]any{"op": "select", "table": "Bridge", "where": []any{},
			"columns": []string{"_uuid", "name", "ports"}},
		map[string]any{"op": "select", "table": "Port", "where": []any{}, "columns": []string{"_uuid", "name"}})
	if err != nil {
		return s, err
	}
	if len(results) < 3 {
		return s, errors.New("the answer of ovsdb-server is incomplete")
	}
	var roots struct {
		Rows []struct {
			External ovsMap `json:"external_ids"`
			Other    ovsMap `json:"other_config"`
			Next     int64  `json:"next_cfg"`
			Current  int64  `json:"cur_cfg"`
		}
	}
	var bridges struct {
		Rows []struct {
			UUID  [2]string `json:"_uuid"`
			Name  string
			Ports ovsSet
		}
	}
	var ports struct {
		Rows []struct {
			UUID [2]string `json:"_uuid"`
			Name string
		}
	}
	if err := errors.Join(json.Unmarshal(results[0], &roots), json.Unmarshal(results[1], &bridges),
		json.Unmarshal(results[2], &ports)); err != nil {
		return s, fmt.Errorf("read the answer of ovsdb-server: %w", err)
	}
	for _, r := range roots.Rows {
		s.external, s.other, s.next, s.current = r.External, r.Other, r.Next, r.Current
	}
	for _, b := range bridges.Rows {
		s.Bridges = append(s.Bridges, b.Name)
		s.uuids[b.Name] = b.UUID[1]
		for _, p := range ports.Rows {
			if slices.Contains(b.Ports, p.UUID[1]) {
				s.Ports[b.Name] = append(s.Ports[b.Name], p.Name)
			}
		}
	}
	s.Keys = slices.Concat(s.external, s.other)
	slices.Sort(s.Bridges)
	slices.Sort(s.Keys)
	return s, nil
}

// ovsMap has the keys of an OVSDB map: ["map", [[key, value], …]].
type ovsMap []string

// UnmarshalJSON implements [json.Unmarshaler].
func (m *ovsMap) UnmarshalJSON(text []byte) error {
	var pairs [][2]string
	if err := json.Unmarshal(text, &[2]any{1: &pairs}); err != nil {
		return err
	}
	for _, p := range pairs {
		*m = append(*m, p[0])
	}
	return nil
}

// ovsSet is an OVSDB set of references: ["set", [["uuid", …], …]], or a single reference without
// the set.
type ovsSet []string

// UnmarshalJSON implements [json.Unmarshaler].
func (s *ovsSet) UnmarshalJSON(text []byte) error {
	var outer [2]json.RawMessage
	if err := json.Unmarshal(text, &outer); err != nil {
		return err
	}
	var one string
	if json.Unmarshal(outer[1], &one) == nil {
		*s = append(*s, one)
		return nil
	}
	var all [][2]string
	if err := json.Unmarshal(outer[1], &all); err != nil {
		return err
	}
	for _, ref := range all {
		*s = append(*s, ref[1])
	}
	return nil
}

// ovsWait is the pause between two looks whether ovs-vswitchd has finished.
const ovsWait = 20 * time.Millisecond

// change removes bridges and keys, and waits until ovs-vswitchd has applied this (next_cfg and
// cur_cfg, as ovs-vsctl does).
func (d *ovsdb) change(ctx context.Context, before ovsState, bridges, keys []string) error {
	set := []any{}
	for _, name := range bridges {
		if uuid, is := before.uuids[name]; is {
			set = append(set, []string{"uuid", uuid})
		}
	}
	mutations := []any{
		[]any{"bridges", "delete", []any{"set", set}},
		[]any{"external_ids", "delete", []any{"set", common(keys, before.external)}},
		[]any{"other_config", "delete", []any{"set", common(keys, before.other)}},
		[]any{"next_cfg", "+=", 1},
	}
	if _, err := d.transact(map[string]any{"op": "mutate", "table": "Open_vSwitch", "where": []any{},
		"mutations": mutations}); err != nil {
		return err
	}
	for {
		now, err := d.state()
		if err != nil {
			return fmt.Errorf("wait for ovs-vswitchd: %w", err)
		}
		if now.current > before.next {
			return nil
		}
		if !sys.Sleep(ctx, ovsWait) {
			return context.Cause(ctx)
		}
	}
}

// common returns the strings that are in both lists. It is never nil, because OVSDB needs an array.
func common(a, b []string) []string {
	out := []string{}
	for _, s := range a {
		if slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}
