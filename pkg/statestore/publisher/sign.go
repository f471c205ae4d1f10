package publisher

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"aead.dev/minisign"

	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Sign adds a signature of key to the published manifest, or replaces the key's older one. The JSON
// of the manifest does not change, so a pin of it still matches.
func Sign(ctx context.Context, to objectstore.Destination, cluster string, key minisign.PrivateKey) (out *Published,
	err error) {
	defer within(&err, "sign", to)
	raw, m, err := current(ctx, to, cluster)
	switch {
	case err != nil:
		return nil, err
	case m.Generation == 0:
		return nil, errors.New("nothing is published there: `agent store publish` comes first")
	}
	statement, signatures, err := trust.Split(raw.Body)
	if err != nil {
		return nil, err
	}
	if !bytes.HasSuffix(statement, []byte("\n")) {
		return nil, errors.New("its manifest, which another program wrote, has no newline at its end, where the " +
			"signatures begin: publish again with --key")
	}
	signatures = slices.DeleteFunc(signatures, func(s string) bool { return trust.SignedBy(s) == trust.ID(key.ID()) })
	signatures = append(signatures, trust.Sign(key, statement, comment(m)))
	out = &Published{
		Cluster: cluster, To: to.String(), Generation: m.Generation, Digest: trust.Digest(statement),
		Objects: m.Count(), SignedBy: trust.ID(key.ID()), Expires: m.Expires,
	}
	if m.Bundle != nil {
		out.Bundle = m.Bundle.Size
	}
	return out, move(ctx, to, trust.Join(statement, signatures...), raw.ETag)
}
