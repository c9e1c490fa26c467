"""The groups of a collective, from texts and protos."""

from __future__ import annotations

import pytest

from tb_xla_insights.pod.groups import groups_of, groups_of_text
from tb_xla_insights.xplane.proto.hlo_pb2 import (
    CollectiveDeviceList,
    HloInstruction,
    IotaReplicaGroups,
    ReplicaGroup,
)


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        (
            "%all-reduce.1 = f32[8] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=%add",
            ((0, 1), (2, 3)),
        ),
        ("all-reduce(x), replica_groups={{0,1,2,3}}", ()),
        ("all-reduce(x), replica_groups={}", ()),
        ("all-gather(x), replica_groups=[2,4]<=[8], dimensions={0}", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("all-gather(x), replica_groups=[4,2]<=[2,4]T(1,0)", ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("all-gather(x), replica_groups=[1,8]<=[8]", ()),
        ("%fusion.1 = f32[8] fusion(x), calls=%all_reduce", None),
    ],
)
def test_groups_of_texts(text: str, groups: tuple[tuple[int, ...], ...] | None) -> None:
    assert groups_of_text(text) == groups


def test_groups_of_protos() -> None:
    """Listed in the instruction, listed in its device list, and as iota."""
    listed = [ReplicaGroup(replica_ids=[0, 2]), ReplicaGroup(replica_ids=[1, 3])]
    iota = IotaReplicaGroups(
        num_replica_groups=2, num_devices_per_group=2, iota_reshape_dims=[2, 2], iota_transpose_perm=[1, 0]
    )
    for instruction in (
        HloInstruction(replica_groups=listed),
        HloInstruction(collective_device_list=CollectiveDeviceList(replica_groups=listed)),
        HloInstruction(collective_device_list=CollectiveDeviceList(iota_replica_group_list=iota)),
    ):
        assert groups_of(HloInstruction.FromString(instruction.SerializeToString())) == ((0, 2), (1, 3))
    assert groups_of(HloInstruction(name="all-reduce.1")) == ()
