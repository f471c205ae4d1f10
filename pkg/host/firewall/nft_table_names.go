package firewall

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// TableName identifies an nft table.
type TableName struct {
	Family string // ip, ip6, inet, arp, bridge, netdev
	Name   string
}

// String returns the argument for `nft delete table`.
func (t TableName) String() string { return t.Family + " " + t.Name }

// TableFamilies has all families of tables with their numbers.
var TableFamilies = map[string]byte{
	"ip": unix.NFPROTO_IPV4, "ip6": unix.NFPROTO_IPV6, "inet": unix.NFPROTO_INET,
	"arp": unix.NFPROTO_ARP, "bridge": unix.NFPROTO_BRIDGE, "netdev": unix.NFPROTO_NETDEV,
}

// tableFamily returns the name of a family, or its number if it has no name.
func tableFamily(number byte) string {
	for name, f := range TableFamilies {
		if f == number {
			return name
		}
	}
	return fmt.Sprint(number)
}

// Tables implements host.Firewall.
func (n *Reader) Tables(ctx context.Context) ([]TableName, error) {
	return readNFT(ctx, n, "nft tables", func(s nftSocket) ([]TableName, error) {
		answers, err := s.ask("the tables", unix.NFT_MSG_GETTABLE, unix.NLM_F_DUMP, unix.NFPROTO_UNSPEC)
		if err != nil {
			return nil, err
		}
		var out []TableName
		for _, m := range answers {
			out = append(out, TableName{tableFamily(m.family), sys.AttributeText(m.body, unix.NFTA_TABLE_NAME)})
		}
		return out, nil
	})
}

// DelTable removes a table of any family with its content; a missing table is success. It may be
// retried.
func (w *Writer) DelTable(ctx context.Context, family, name string) error {
	t := TableName{family, name}
	if err := w.fw.ready(ctx); err != nil {
		return fmt.Errorf("remove nft table %s: %w", t, err)
	}
	if !Loaded("/") {
		return nil
	}
	b := nftBatch{family: TableFamilies[t.Family], table: t.Name}
	b.removeTable()
	switch err := w.transact(ctx, b); {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return fmt.Errorf("remove nft table %s: %w", t, nftHint(err))
	}
	sys.Changed(w.log, "nft table removed", zap.String("family", t.Family), zap.String("table", t.Name))
	return nil
}
