package daemon

import _ "fmt"
