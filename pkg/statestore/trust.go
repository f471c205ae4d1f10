package statestore

// Trust decides on a manifest as it is in the store: JSON, and what may follow it. It returns the JSON part, or a permanent error that
// says what is wrong and what to do. Nil trusts whatever is there.
type Trust func(raw []byte) (manifest []byte, err error)

// openManifest is the one place where a published manifest enters: nothing of it, nor of what it names, is looked at before it is trusted.
func openManifest(raw []byte, cluster string, trust Trust) (*Manifest, Revision, error) {
	text := raw
	if trust != nil {
		var err error
		if text, err = trust(raw); err != nil {
			return nil, Revision{}, err
		}
	}
	m, err := ParseManifest(text, cluster)
	if err != nil {
		return nil, Revision{}, err
	}
	return m, Revision{Generation: m.Generation, Digest: sum(text)}, nil
}
