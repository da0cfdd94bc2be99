// Makes a cluster with the client that oapi-codegen has generated, reads it and deletes it.
// STEELYARD_URL and STEELYARD_TOKEN name the Steelyard; the argument names the cluster.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"

	"example.com/steelyard/client"
)

func demand(isTrue bool, format string, values ...any) {
	if isTrue {
		return
	}
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

// patient repeats a request that a busy Steelyard has refused: it has changed nothing.
type patient struct{}

func (patient) RoundTrip(request *http.Request) (*http.Response, error) {
	for {
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusServiceUnavailable {
			return response, err
		}
		response.Body.Close()
		time.Sleep(2 * time.Second)
		if request.GetBody != nil {
			if request.Body, err = request.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

func wait(ctx context.Context, api *client.ClientWithResponses, id uuid.UUID) {
	for {
		answer, err := api.OperationGetWithResponse(ctx, id)
		demand(err == nil && answer.JSON200 != nil, "operationGet: %v %s", err, answer.Body)
		switch answer.JSON200.Status {
		case client.OperationStatusDone:
			return
		case client.OperationStatusFailed, client.OperationStatusCancelled:
			demand(false, "operation %s is %s", id, answer.JSON200.Status)
		}
		time.Sleep(500 * time.Millisecond)
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	patience := client.WithHTTPClient(&http.Client{Transport: patient{}})
	api, err := client.NewClientWithResponses(os.Getenv("STEELYARD_URL"), patience, client.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+os.Getenv("STEELYARD_TOKEN"))
			return nil
		}))
	demand(err == nil, "%v", err)

	eligible := client.ServerListParamsEligibleTrue
	list, err := api.ServerListWithResponse(ctx, &client.ServerListParams{Eligible: &eligible})
	demand(err == nil && list.JSON200 != nil, "serverList: %v", err)
	servers, err := list.JSON200.AsServerList200JSONResponseBody0()
	demand(err == nil && len(servers.Items) > 0, "no free server: %v", err)
	first := servers.Items[0]

	name, key := os.Args[1], uuid.NewString()
	body := client.ClusterCreate{
		Name:         name,
		DatacenterId: first.Datacenter.Id,
		TalosVersion: first.Talos.Version,
		Servers:      []client.ClusterServer{{NodeId: first.Id, Role: client.ClusterServerRoleControlPlane}},
	}
	created, err := api.ClusterCreateWithResponse(ctx, &client.ClusterCreateParams{IdempotencyKey: &key}, body)
	demand(err == nil && created.JSON202 != nil, "clusterCreate: %v %s", err, created.Body)
	id := created.JSON202.Cluster.Id
	wait(ctx, api, created.JSON202.Operation.Id)

	read, err := api.ClusterGetWithResponse(ctx, id, nil)
	demand(err == nil && read.JSON200 != nil && read.JSON200.Name == name, "clusterGet: %v", err)
	kubeconfig, err := api.ClusterKubeconfigWithResponse(ctx, id)
	demand(err == nil && kubeconfig.StatusCode() == 200 && len(kubeconfig.Body) > 0, "clusterKubeconfig: %v", err)

	// An error is decoded, in either form.
	missing, err := api.ClusterGetWithResponse(ctx, uuid.New(), nil)
	demand(err == nil && missing.JSON404 != nil && missing.JSON404.Code == client.ErrorCodeNotFound, "an error: %v", err)
	problem, err := api.ClusterGetWithResponse(ctx, uuid.New(), nil, func(_ context.Context, request *http.Request) error {
		request.Header.Set("Accept", "application/problem+json")
		return nil
	})
	demand(err == nil && problem.ApplicationproblemJSON404 != nil && problem.ApplicationproblemJSON404.Status == 404, "a problem: %v", err)

	deleted, err := api.ClusterDeleteWithResponse(ctx, id, nil)
	demand(err == nil && deleted.JSON202 != nil, "clusterDelete: %v", err)
	wait(ctx, api, deleted.JSON202.Operation.Id)
	fmt.Println("made, read and deleted " + name)
}
