// Command v1.13 answers the conformance cases with the code of Talos v1.13.9: go run . CASES ANSWERS.
package main

import "steelyard/conformance/talos"

func main() { talos.Main("v1.13.9") }
