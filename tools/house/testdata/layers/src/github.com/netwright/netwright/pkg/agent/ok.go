package agent

import _ "fmt"
