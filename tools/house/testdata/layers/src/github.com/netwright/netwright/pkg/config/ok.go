package config

import _ "fmt"
