package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/statestore/stores"
)

// maxStatusObject is larger than any status.
const maxStatusObject = 8 << 20

// statusWriter returns the function that writes the status object; nil: none is configured.
func (o *runOptions) statusWriter(w *cli.Opened) (func(context.Context, []byte) error, error) {
	place := o.f.StatusObject
	switch {
	case place == "":
		return nil, nil
	case place == agentfile.On:
		place = o.f.Store
	}
	if strings.HasPrefix(place, "k8s://") {
		return nil,
			errors.New("a k8s:// store keeps none: the Node's condition tells as much there; name a directory " +
				"or s3:// as statusObject in " + defaultConf)
	}
	sink, err := stores.OpenDestination(place, o.f.Cluster, o.f.StoreOptions(nil))
	if err != nil {
		return nil, err
	}
	name := "status/" + w.Select.Node + ".json"
	return func(ctx context.Context, data []byte) error {
		known := ""
		switch got, err := sink.Get(ctx, name, "", maxStatusObject); {
		case err == nil:
			known = got.ETag
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("look at %s of %s: %w", name, sink, err)
		}
		if err := sink.Replace(ctx, name, data, known); err != nil {
			return fmt.Errorf("write %s of %s: %w", name, sink, err)
		}
		return nil
	}, nil
}
