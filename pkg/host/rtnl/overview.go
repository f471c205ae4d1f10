package rtnl

import "context"

// Overview is how a host's network looks.
type Overview struct {
	Links     []Link    // by index
	Addresses []Address // on all of them
	Routes    []Route   // of the main table: see [Reader.Routes]
	Defaults  []Route   // see [Reader.DefaultRoutes]
}

// Overview lists all of it, by one list of each: to whom a link's number belongs is not asked for
// each of them. Facts and probes are made of it. It may be retried.
func (n *Reader) Overview(ctx context.Context) (o Overview, err error) {
	if o.Links, err = n.Links(ctx); err != nil {
		return o, err
	}
	names := NamesOf(o.Links)
	if o.Addresses, err = n.addresses(ctx, names); err != nil {
		return o, err
	}
	list, err := n.listed(ctx, MainTable)
	o.Routes, o.Defaults = supported(list, names), defaults(list, names)
	return o, err
}
