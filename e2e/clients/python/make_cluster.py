"""Makes a cluster with the client that openapi-python-client has generated, reads it and deletes it.

STEELYARD_URL and STEELYARD_TOKEN name the Steelyard; the argument names the cluster.
"""

import os
import sys
import time
import uuid

import httpx
from steelyard import AuthenticatedClient
from steelyard.api.clusters import cluster_create, cluster_delete, cluster_get, cluster_kubeconfig
from steelyard.api.nodes import server_list
from steelyard.api.operations import operation_get
from steelyard.models import (
    Cluster,
    ClusterCreate,
    ClusterCreateResponse202,
    ClusterDeleteResponse202,
    ClusterServer,
    ClusterServerRole,
    Error,
    ErrorCode,
    Operation,
    OperationStatus,
    ServerListEligible,
    ServerListResponse200Type0,
)

name = sys.argv[1]


class Patient(httpx.HTTPTransport):
    """Repeats a request that a busy Steelyard has refused: it has changed nothing."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        while True:
            response = super().handle_request(request)
            if response.status_code != 503:
                return response
            response.close()
            time.sleep(2)


client = AuthenticatedClient(
    base_url=os.environ["STEELYARD_URL"],
    token=os.environ["STEELYARD_TOKEN"],
    timeout=httpx.Timeout(30),
    httpx_args={"transport": Patient()},
)


def wait(id: uuid.UUID) -> None:
    for _ in range(480):
        operation = operation_get.sync(id, client=client)
        assert isinstance(operation, Operation), operation
        if operation.status == OperationStatus.DONE:
            return
        assert operation.status not in (OperationStatus.FAILED, OperationStatus.CANCELLED), operation
        time.sleep(0.5)
    raise TimeoutError(f"operation {id} did not end")


servers = server_list.sync(client=client, eligible=ServerListEligible.TRUE)
assert isinstance(servers, ServerListResponse200Type0) and servers.items, servers
first = servers.items[0]
assert first.datacenter and first.talos.version
created = cluster_create.sync(
    client=client,
    body=ClusterCreate(
        name=name,
        datacenter_id=first.datacenter.id,
        talos_version=first.talos.version,
        servers=[ClusterServer(node_id=first.id, role=ClusterServerRole.CONTROL_PLANE)],
    ),
    idempotency_key=str(uuid.uuid4()),
)
assert isinstance(created, ClusterCreateResponse202), created
wait(created.operation.id)

cluster = cluster_get.sync(created.cluster.id, client=client)
assert isinstance(cluster, Cluster) and cluster.name == name, cluster
kubeconfig = cluster_kubeconfig.sync_detailed(created.cluster.id, client=client)
assert kubeconfig.status_code == 200 and kubeconfig.content

missing = cluster_get.sync(uuid.uuid4(), client=client)
assert isinstance(missing, Error) and missing.code == ErrorCode.NOT_FOUND, missing

deleted = cluster_delete.sync(created.cluster.id, client=client)
assert isinstance(deleted, ClusterDeleteResponse202), deleted
wait(deleted.operation.id)
print(f"made, read and deleted {name}")
