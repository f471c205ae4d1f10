// Package trust decides whether a published manifest is accepted: by its hash, which the agent's
// own file pins, or by the signature of a key that the file lists. It refuses a manifest that has
// expired or that is older than one that the node has seen. All stores call it in one place, after
// they have read the manifest and before they use anything in it.
//
// It protects from anyone who can write to the store, who is between the store and the node, or who
// saved an old publication and serves it again. It does not protect from the owner of a listed key,
// nor from root on the node, who writes the list.
package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"aead.dev/minisign"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/problem"
)

// Policy says which manifests a node trusts. A manifest must satisfy each condition that is set.
// The zero Policy trusts none.
type Policy struct {
	// Pin names the only manifest that is accepted. It may be older than one that was seen, because
	// a person set the pin.
	Pin Pin
	// Keys are the trusted keys, one of which must have signed. During a change of keys there are
	// two.
	Keys []Key
	// Unsigned accepts a manifest without a signature if Pin and Keys are not set.
	Unsigned bool
	// Older accepts a lower generation than was seen, or another manifest of the same generation.
	// Only a person sets it.
	Older bool
	// Seen returns what the node has seen last of a store; nil if there is none. It is called at
	// each check. If it returns an error, no manifest is accepted.
	Seen func(store string) (Seen, error)
	// Now is the clock for the expiry; nil for time.Now.
	Now func() time.Time
}

// Pin is the sha256 of a manifest's JSON, in hex. The zero Pin is no pin.
type Pin struct {
	Digest string
	Origin string // position of the pin: "/etc/netwright/agent.yaml:3:6"
}

// Key is a trusted key.
type Key struct {
	Public minisign.PublicKey
	Origin string
}

// Seen is the newest publication that a node has taken, or that it will take in its window. The
// zero Seen is none.
type Seen struct {
	Generation int64
	Digest     string // sha256 of the statement
}

// ParseKey decodes a public key from the base64 line of a .pub file, or from both of its lines.
func ParseKey(text, origin string) (Key, error) {
	k := Key{Origin: origin}
	text = strings.TrimPrefix(text, "\ufeff") // byte order mark, which some editors write
	if err := k.Public.UnmarshalText([]byte(strings.TrimSpace(text))); err != nil {
		return Key{}, problem.KeyWrong.Errorf("%s: this is no public key of minisign: %w: `agent store keygen` makes "+
			"one", origin, err)
	}
	if weak(text) {
		return Key{}, problem.KeyWrong.Errorf("%s: signatures of this key can be made without its private key (its "+
			"point has a small order, as a key of zeros): `agent store keygen` makes another", origin)
	}
	return k, nil
}

// stated has the fields of a statement that a policy checks.
type stated struct {
	Generation int64     `json:"generation"`
	Expires    time.Time `json:"expires"`
}

// Check returns the statement of a manifest object if the policy accepts it. Only then may the
// caller use its content. store is the name of the store, for messages and for Policy.Seen. Every
// error is permanent: the same bytes fail again until a person does what the error says.
func (p Policy) Check(raw []byte, store string) (statement []byte, err error) {
	statement, signatures, err := Split(raw)
	if err == nil {
		err = p.vouched(statement, signatures)
	}
	if err == nil {
		err = p.fresh(statement, store)
	}
	if err != nil {
		return nil, graph.Permanent(err)
	}
	return statement, nil
}

// CheckOwn does what Check does, for a manifest that the reader of a directory made. It has no
// signature. So the policy must have a pin, or the directory must be one that only root and the
// caller can change. foreign is the error if it is not such a directory.
func (p Policy) CheckOwn(statement []byte, foreign error) error {
	switch {
	case len(p.Keys) > 0:
		return graph.Permanent(problem.SignatureMissing.Errorf("its documents are not published, and %s accepts "+
			"only what is signed: publish them with `agent store publish`", p.Keys[0].Origin))
	case p.Pin.Digest != "":
		return graph.Permanent(p.pinned(statement))
	case !p.Unsigned:
		return graph.Permanent(foreign)
	}
	return nil
}

// CheckCached does what Check does, for the copy of a manifest that the node accepted earlier. The
// copy may have expired meanwhile. It need not match a pin, which says what to take next. It needs
// no signature if no keys are set, because the policy or the directory of that time was trusted.
func (p Policy) CheckCached(raw []byte) (statement []byte, err error) {
	statement, signatures, err := Split(raw)
	if err == nil {
		p.Pin, p.Unsigned = Pin{}, true
		err = p.vouched(statement, signatures)
	}
	if err != nil {
		return nil, graph.Permanent(err)
	}
	return statement, nil
}

// The reasons to refuse a manifest, for reports. Neither means that the store is not reachable.
var (
	// ErrUntrusted marks the error of a manifest that no trusted key signed, or that is older than
	// one that was taken.
	ErrUntrusted = errors.New("the manifest is not trusted")
	// ErrPinned marks the error of a manifest that does not match the pin.
	ErrPinned = errors.New("the manifest is not the pinned one")
)

// refusal is an error that also matches kind, without the text of kind.
type refusal struct {
	error
	kind error
}

func (r *refusal) Unwrap() []error { return []error{r.error, r.kind} }

// of returns err as a refusal of a kind, or nil.
func of(kind, err error) error {
	if err == nil {
		return nil
	}
	return &refusal{err, kind}
}

// vouched checks a statement against the pin and the keys.
func (p Policy) vouched(statement []byte, signatures []string) error {
	if p.Pin.Digest == "" && len(p.Keys) == 0 && !p.Unsigned {
		return problem.SignatureMissing.Errorf("no pin and no trusted key is set to check its manifest, which has "+
			"sha256 %s: set pin or trustedKeys in the agent's file, or accept any manifest with --insecure-unsigned",
			Digest(statement))
	}
	if err := p.pinned(statement); err != nil {
		return of(ErrPinned, err)
	}
	return of(ErrUntrusted, p.signed(statement, signatures))
}

func (p Policy) pinned(statement []byte) error {
	if got := Digest(statement); p.Pin.Digest != "" && got != p.Pin.Digest {
		return problem.PinDiffers.Errorf("its manifest has sha256 %s, and %s pins %s: if you published another one, "+
			"set the pin to it; else somebody changed the store: publish the pinned one again",
			got, p.Pin.Origin, p.Pin.Digest)
	}
	return nil
}

// signed returns nil if one of the signatures is by a trusted key. The others may be by keys that
// other nodes trust.
func (p Policy) signed(statement []byte, signatures []string) error {
	if len(p.Keys) == 0 {
		return nil
	}
	if len(signatures) == 0 {
		return problem.SignatureMissing.Errorf("its manifest, which has sha256 %s, is not signed, and %s: sign it "+
			"with `agent store sign`, or publish with --key", Digest(statement), p.trusted())
	}
	var by []string
	var broken, unread error
	for _, text := range signatures {
		s, err := parseSignature(text)
		if err != nil { // another kind of signature, for other nodes
			unread = err
			continue
		}
		by = append(by, ID(s.KeyID))
		for _, k := range p.Keys {
			if k.Public.ID() != s.KeyID {
				continue
			}
			if minisign.Verify(k.Public, statement, []byte(text)) {
				return nil
			}
			broken = problem.SignatureUntrusted.Errorf("its manifest, which has sha256 %s, is not what key %s (%s) "+
				"signed: somebody changed it since: publish again", Digest(statement), ID(s.KeyID), k.Origin)
		}
	}
	switch {
	case broken != nil:
		return broken
	case by == nil:
		return unread
	}
	return problem.SignatureUntrusted.Errorf("its manifest, which has sha256 %s, is signed by key %s, and %s: publish "+
		"with a key of those, or add this one to trustedKeys if it is yours",
		Digest(statement), strings.Join(by, " and "), p.trusted())
}

// trusted lists the trusted keys with their positions, for messages.
func (p Policy) trusted() string {
	list := make([]string, len(p.Keys))
	for i, k := range p.Keys {
		list[i] = fmt.Sprintf("%s (%s)", ID(k.Public.ID()), k.Origin)
	}
	return "only these keys are trusted: " + strings.Join(list, ", ")
}

// fresh refuses a manifest that has expired, or that is older than one that was seen.
func (p Policy) fresh(statement []byte, store string) error {
	var s stated
	if err := json.Unmarshal(statement, &s); err != nil {
		return problem.StoreManifest.Errorf("decode manifest: %w: publish again", err)
	}
	if err := p.Expired(s.Expires); err != nil {
		return err
	}
	if p.Older || p.Pin.Digest != "" || p.Seen == nil {
		return nil
	}
	seen, err := p.Seen(store)
	if err != nil {
		return fmt.Errorf("it is not known whether its manifest is older than what this node has seen: %w", err)
	}
	digest := Digest(statement)
	switch {
	case s.Generation < seen.Generation:
		return of(ErrUntrusted, problem.GenerationOlder.Errorf("its manifest is of generation %d with sha256 %s, and "+
			"this node has seen generation %d with sha256 %s: a cache in front of the store answers with an old one, "+
			"or somebody put an old one back; publish again with --above %[3]d, or take it with "+
			"--accept-older-generation",
			s.Generation, digest, seen.Generation, seen.Digest))
	case s.Generation == seen.Generation && seen.Digest != "" && digest != seen.Digest:
		return of(ErrUntrusted, problem.GenerationOlder.Errorf("its manifest is of generation %d with sha256 %s, and "+
			"this node has seen another one of that number, with sha256 %s: publish again with --above %[1]d, or "+
			"take it with --accept-older-generation",
			s.Generation, digest, seen.Digest))
	}
	return nil
}

// ErrExpired marks the error of a manifest that has expired, which must not be taken as new. A node
// goes on using a configuration that it took before.
var ErrExpired = errors.New("expired")

// Expired returns an error if the time at has passed. It returns nil for the zero time.
func (p Policy) Expired(at time.Time) error {
	now := time.Now()
	if p.Now != nil {
		now = p.Now()
	}
	if at.IsZero() || now.Before(at) {
		return nil
	}
	return problem.GenerationExpired.Errorf("its manifest has %w at %s: publish again, or set the clock if it is "+
		"wrong", ErrExpired, at.UTC().Format(time.RFC3339))
}
