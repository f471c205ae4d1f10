package host

import _ "fmt"
