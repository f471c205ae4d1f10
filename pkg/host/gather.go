package host

import "context"

func gatherFacts(context.Context, *Live) (*Facts, error) { return &Facts{}, nil }
