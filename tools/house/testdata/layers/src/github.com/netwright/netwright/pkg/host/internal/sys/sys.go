package sys

import _ "github.com/netwright/netwright/pkg/host" // want `pkg/host/internal/sys imports pkg/host, which is not below it`
