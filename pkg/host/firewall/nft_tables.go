package firewall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// TableName names an nft table.
type TableName struct {
	Family string // ip, ip6, inet, arp, bridge, netdev
	Name   string
}

// String is the argument of `nft delete table`.
func (t TableName) String() string { return t.Family + " " + t.Name }

// TableFamilies are all families that tables can have; nftFamilies are those of ours.
var TableFamilies = map[string]nftables.TableFamily{
	"ip": nftables.TableFamilyIPv4, "ip6": nftables.TableFamilyIPv6, "inet": nftables.TableFamilyINet,
	"arp": nftables.TableFamilyARP, "bridge": nftables.TableFamilyBridge, "netdev": nftables.TableFamilyNetdev,
}

// tableFamily is the name of a family, its number where it has none.
func tableFamily(number byte) string {
	for name, f := range TableFamilies {
		if byte(f) == number {
			return name
		}
	}
	return fmt.Sprint(number)
}

// readNFT reads all of a kind as of one moment; nothing where nf_tables is not loaded.
func readNFT[T any](ctx context.Context, n *Reader, what string, read func(nftSocket) ([]T, error)) ([]T, error) {
	s, err := n.openNFT(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return consistent(ctx, s, what, func() ([]T, error) { return read(s) })
}

// Tables implements host.Firewall.
func (n *Reader) Tables(ctx context.Context) ([]TableName, error) {
	return readNFT(ctx, n, "nft tables", func(s nftSocket) ([]TableName, error) {
		answers, err := s.ask("the tables", unix.NFT_MSG_GETTABLE, netlink.Dump, nftables.TableFamilyUnspecified)
		if err != nil {
			return nil, err
		}
		var out []TableName
		for _, m := range answers {
			family, body := split(m)
			out = append(out, TableName{tableFamily(family), sys.AttributeText(body, unix.NFTA_TABLE_NAME)})
		}
		return out, nil
	})
}

// DelTableNamed removes a table of any family with all that is in it; absence
// is success. It may be retried.
func (w *Writer) DelTableNamed(ctx context.Context, t TableName) error {
	have, err := w.fw.Tables(ctx)
	if err != nil {
		return fmt.Errorf("remove nft table %s: %w", t, err)
	}
	for _, o := range have {
		if o != t {
			continue
		}
		c, err := w.nft(ctx)
		if err != nil {
			return fmt.Errorf("remove nft table %s: %w", t, err)
		}
		c.DelTable(&nftables.Table{Family: TableFamilies[t.Family], Name: t.Name})
		if err := c.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove nft table %s: %w", t, nftHint(err))
		}
		sys.Changed(w.log, "nft table removed", zap.String("family", t.Family), zap.String("table", t.Name))
	}
	return nil
}
