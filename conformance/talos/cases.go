// Package talos answers the conformance cases with Talos's own code: what it generates, merges and refuses.
package talos

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"gopkg.in/yaml.v3"
)

// Cases is what both sides are asked; cases.json, made by make-cases.ts.
type Cases struct {
	Secrets  string            `json:"secrets"`
	Generate []Generate        `json:"generate"`
	Bases    map[string]string `json:"bases"`
	Patches  []Patch           `json:"patches"`
	// Expressions are compiled, and evaluated on Samples.
	Expressions []Expressions `json:"expressions"`
	Samples     Samples       `json:"samples"`
	// Certificates are made and verified as well.
	Certificates Certificates `json:"certificates"`
}

// Generate is one configuration to generate.
type Generate struct {
	ID                string   `json:"id"`
	Role              string   `json:"role"`
	ClusterName       string   `json:"clusterName"`
	Endpoint          string   `json:"endpoint"`
	KubernetesVersion string   `json:"kubernetesVersion"`
	PodCIDR           string   `json:"podCidr"`
	ServiceCIDR       string   `json:"serviceCidr"`
	DNSDomain         string   `json:"dnsDomain"`
	InstallDisk       string   `json:"installDisk"`
	InstallImage      string   `json:"installImage"`
	AdditionalSANs    []string `json:"additionalSans"`
	AllowScheduling   bool     `json:"allowSchedulingOnControlPlanes"`
}

// Patch is a base configuration, by name, and the patches that are merged into it one after another.
type Patch struct {
	ID      string   `json:"id"`
	Base    string   `json:"base"`
	Patches []string `json:"patches"`
}

// Answers is what Talos says: by id, the digest of a text, or "refused: " and why.
type Answers struct {
	Talos   string            `json:"talos"`
	Answers map[string]string `json:"answers"`
	Secrets string            `json:"secrets"`
	// Expressions by id: see compiled.
	Expressions map[string]string `json:"expressions"`
	// Messages are what expressions know: see messages.
	Messages map[string]map[string]string `json:"messages"`
	// Certificates of both sides, as Go reads them.
	Certificates CertificateAnswers `json:"certificates"`
}

type metal struct{}

func (metal) String() string        { return "metal" }
func (metal) RequiresInstall() bool { return true }
func (metal) InContainer() bool     { return false }

type clock struct{}

func (clock) Now() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func digest(text []byte) string {
	sum := sha256.Sum256(text)

	return hex.EncodeToString(sum[:8])
}

// refused keeps the last line of an error, which names the cause.
func refused(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	reason := []rune(strings.TrimSpace(lines[len(lines)-1]))

	return "refused: " + string(reason[:min(len(reason), 80)])
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Main reads the cases from the first argument and writes Talos's answers to the second, and where there is a third, new authorities to that.
// version is the Talos version that is asked.
func Main(version string) {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail(err)
	}

	var cases Cases
	if err = json.Unmarshal(text, &cases); err != nil {
		fail(err)
	}

	contract, err := config.ParseContractFromVersion(version)
	if err != nil {
		fail(err)
	}

	bundle := &secrets.Bundle{Clock: clock{}}
	if err = yaml.Unmarshal([]byte(cases.Secrets), bundle); err != nil {
		fail(err)
	}

	written, err := yaml.Marshal(bundle)
	if err != nil {
		fail(err)
	}

	answers := Answers{
		Talos: version, Answers: map[string]string{}, Secrets: string(written),
		Expressions: map[string]string{}, Messages: messages(),
	}

	for _, c := range cases.Generate {
		answers.Answers[c.ID] = generated(c, bundle, contract)
	}

	for _, c := range cases.Patches {
		answers.Answers[c.ID] = merged(cases.Bases[c.Base], c.Patches)
	}

	for _, c := range cases.Expressions {
		if answers.Expressions[c.ID], err = compiled(c, cases.Samples); err != nil {
			fail(err)
		}
	}

	if answers.Certificates, err = certificates(cases.Certificates, bundle, contract); err != nil {
		fail(err)
	}

	write(os.Args[2], answers)

	// Made once: they are others each time.
	if len(os.Args) > 3 {
		made, err := authorities(cases.Certificates.Now, contract)
		if err != nil {
			fail(err)
		}

		write(os.Args[3], made)
	}
}

func write(path string, value any) {
	out, err := os.Create(path)
	if err != nil {
		fail(err)
	}

	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")

	if err = enc.Encode(value); err != nil {
		fail(err)
	}

	if err = out.Close(); err != nil {
		fail(err)
	}
}

func generated(c Generate, bundle *secrets.Bundle, contract *config.VersionContract) string {
	options := []generate.Option{
		generate.WithVersionContract(contract),
		generate.WithSecretsBundle(bundle),
		generate.WithAllowSchedulingOnControlPlanes(c.AllowScheduling),
		generate.WithInstallDisk(c.InstallDisk),
		generate.WithInstallImage(c.InstallImage),
		generate.WithAdditionalSubjectAltNames(c.AdditionalSANs),
	}

	if c.DNSDomain != "" {
		options = append(options, generate.WithDNSDomain(c.DNSDomain))
	}

	input, err := generate.NewInput(c.ClusterName, c.Endpoint, c.KubernetesVersion, options...)
	if err != nil {
		return refused(err)
	}

	// talosctl has no flag for them either: they are patched in (`cluster.network`).
	if c.PodCIDR != "" {
		input.PodNet = []string{c.PodCIDR}
	}

	if c.ServiceCIDR != "" {
		input.ServiceNet = []string{c.ServiceCIDR}
	}

	role := machine.TypeControlPlane
	if c.Role == "worker" {
		role = machine.TypeWorker
	}

	provider, err := input.Config(role)
	if err != nil {
		return refused(err)
	}

	text, err := provider.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	if err != nil {
		return refused(err)
	}

	return digest(text)
}

func merged(base string, bodies []string) (answer string) {
	// A panic of Talos is a refusal as well: its API answers Internal.
	defer func() {
		if r := recover(); r != nil {
			answer = refused(fmt.Errorf("panic: %v", r))
		}
	}()

	patches, err := configpatcher.LoadPatches(bodies)
	if err != nil {
		return refused(err)
	}

	out, err := configpatcher.Apply(configpatcher.WithBytes([]byte(base)), patches)
	if err != nil {
		return refused(err)
	}

	text, err := out.Bytes()
	if err != nil {
		return refused(err)
	}

	provider, err := configloader.NewFromBytes(text)
	if err != nil {
		return refused(err)
	}

	if _, err = provider.Validate(metal{}); err != nil {
		return refused(err)
	}

	return digest(text)
}
