package talos

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	talosblock "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/block"
	talosnetwork "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/network"
	taloscel "github.com/siderolabs/talos/pkg/machinery/cel"
	"github.com/siderolabs/talos/pkg/machinery/cel/celenv"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Expressions are CEL expressions for one place of a document.
type Expressions struct {
	ID string `json:"id"`
	// Document is its YAML, in which EXPRESSION stands for the expression.
	Document string `json:"document"`
	// Of says what the expressions select, "disk" or "link", if they are evaluated on a sample as well.
	Of   string   `json:"of"`
	List []string `json:"list"`
}

// Samples are what expressions are evaluated on, in protobuf's JSON.
type Samples struct {
	Disk json.RawMessage `json:"disk"`
	Link json.RawMessage `json:"link"`
}

// compiled has one character for each expression: "-" if Talos refuses the document, "+" if it takes it.
// Where the expression is evaluated, "t" and "f" are its value, and "e" is an error.
func compiled(expressions Expressions, samples Samples) (string, error) {
	answers := strings.Builder{}

	for _, expression := range expressions.List {
		quoted, err := json.Marshal(expression)
		if err != nil {
			return "", err
		}

		switch {
		case !isTaken(strings.ReplaceAll(expressions.Document, "EXPRESSION", string(quoted))):
			answers.WriteString("-")
		case expressions.Of == "":
			answers.WriteString("+")
		default:
			value, err := evaluated(expression, expressions.Of, samples)
			if err != nil {
				return "", err
			}

			answers.WriteString(value)
		}
	}

	return answers.String(), nil
}

func isTaken(document string) bool {
	provider, err := configloader.NewFromBytes([]byte(document))
	if err != nil {
		return false
	}

	_, err = provider.Validate(metal{})

	return err == nil
}

func evaluated(expression, of string, samples Samples) (string, error) {
	var (
		env    *cel.Env
		sample json.RawMessage
		value  proto.Message
	)

	switch of {
	case "disk":
		env, sample, value = celenv.DiskLocator(), samples.Disk, &talosblock.DiskSpec{}
	case "link":
		env, sample, value = celenv.LinkLocator(), samples.Link, &talosnetwork.LinkStatusSpec{}
	default:
		return "", fmt.Errorf("there is no sample of %q", of)
	}

	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(sample, value); err != nil {
		return "", err
	}

	parsed, err := taloscel.ParseBooleanExpression(expression, env)
	if err != nil {
		return "", err
	}

	result, err := parsed.EvalBool(env, map[string]any{of: value, "system_disk": false})

	switch {
	case err != nil:
		return "e", nil //nolint:nilerr
	case result:
		return "t", nil
	default:
		return "f", nil
	}
}

// messages are the types of the variables of expressions, with CEL's type of each field.
func messages() map[string]map[string]string {
	found := map[string]map[string]string{}

	for _, message := range []proto.Message{
		&talosblock.DiskSpec{}, &talosblock.DiscoveredVolumeSpec{}, &talosnetwork.LinkStatusSpec{},
	} {
		describe(message.ProtoReflect().Descriptor(), found)
	}

	return found
}

func describe(message protoreflect.MessageDescriptor, found map[string]map[string]string) {
	name := string(message.Name())
	if _, ok := found[name]; ok {
		return
	}

	fields := map[string]string{}
	found[name] = fields

	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)

		of := field.Kind().String()
		switch field.Kind() { //nolint:exhaustive
		case protoreflect.EnumKind, protoreflect.Int32Kind, protoreflect.Int64Kind:
			of = "int"
		case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind:
			of = "uint"
		case protoreflect.MessageKind:
			of = string(field.Message().Name())
			if field.Message().FullName().Parent() == "google.protobuf" {
				of = strings.ToLower(of)
			} else {
				describe(field.Message(), found)
			}
		}

		if field.IsList() {
			of = "list<" + of + ">"
		}

		fields[string(field.Name())] = of
	}
}
