package issue

import (
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Ending returns notes for the certificates in a graph that expire soon or have expired, and that
// nobody renews in time. The agent never removes an expired certificate: a missing one would be
// worse. A note has no present time: each pass would have another one, and publish another status.
func Ending(g *tasks.Graph, node string, now time.Time) (notes []report.Note) {
	for _, t := range g.Order() {
		set, ok := t.(tasks.CertificateSet)
		if !ok || len(set.Cert.PEM) == 0 {
			continue
		}
		note := func(what string, l certs.Validity, advice string) {
			level, words := network.Warning, "ends on "+Date(l.NotAfter)
			switch l.StateAt(now) {
			case certs.Ending:
			case certs.Urgent:
				level, words = network.Error, "ENDS SOON, on "+Date(l.NotAfter)
			case certs.Expired:
				level, words = network.Error, "HAS EXPIRED on "+Date(l.NotAfter)+" and is not removed"
				advice += ", or set the clock if it is wrong"
			case certs.NotYet:
				level, words, advice = network.Error, "is not valid before "+Date(l.NotBefore), "is the clock right?"
			default:
				return
			}
			notes = append(notes, report.Note{Level: string(level), Origin: set.From,
				Text: fmt.Sprintf("%s %s: %s", what, words, advice)})
		}
		if all, err := certs.Parse(set.Cert.PEM); err == nil {
			l, advice := certs.ValidityOf(all[0]),
				"the certificate comes from the store, so the agent cannot renew it: issue another and publish it"
			if set.Source != "" && set.Source != extras.SourceStore {
				l.RenewAt, advice = certs.RenewAt(all[0], time.Time{}, node+"/"+set.Name),
					"its renewal is late: see why it is not issued"
			}
			note(fmt.Sprintf("the certificate %s (%s)", set.Label(), certs.Subject(all[0])), l, advice)
		}
		if all, err := certs.Parse(set.CA.PEM); err == nil {
			note(fmt.Sprintf("the CA beside the certificate %s (%s)", set.Label(), certs.Subject(all[0])),
				certs.ValidityOf(all[0]),
				"before that, put its successor into the store, and trust both for a while")
		}
	}
	return notes
}
