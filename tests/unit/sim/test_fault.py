"""Orders of faults: what is read, and what a mistake is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.sim.fault import GRAMMAR, lines, orders, parse


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("aclnnAdd@3=507015", "site=task place=aclnnAdd first=3 last=3 kind=fail code=507015"),
        ("aclnnAdd=161002", "site=call place=aclnnAddGetWorkspaceSize kind=fail code=161002"),
        ("aclnnAdd=call:507015", "site=call place=aclnnAdd kind=fail code=507015"),
        ("task@1000=hang", "site=task place=* first=1000 last=1000 kind=hang"),
        ("malloc@p=0.01,seed=7=oom", "site=malloc place=malloc chance=0.01 seed=7 kind=fail code=207001"),
        ("copy@2+=507013", "site=task place=aclrtMemcpy* first=2 kind=fail code=507013"),
        ("HcclAllReduce@rank1:5=kill", "site=task place=HcclAllReduce rank=1 first=5 last=5 kind=kill"),
        ("HcclAllReduce@4=call:4", "site=call place=HcclAllReduce first=4 last=4 kind=fail code=4"),
        ("stream@2=207008", "site=stream place=stream first=2 last=2 kind=fail code=207008"),
        ("launch of kernel add_custom=507015", "site=task place=add_custom kind=fail code=507015"),
        ("kernel:add_custom=task:507035", "site=task place=add_custom kind=fail code=507035"),
        ("aclnnMm@every=10,times=2=slow:4", "site=task place=aclnnMm every=10 most=2 kind=slow argument=4"),
        ("aclnnForeach*@3-5=flip:30", "site=task place=aclnnForeach* first=3 last=5 kind=flip argument=30"),
        ("aclnnMm@device1=uce:0x10", "site=task place=aclnnMm device=1 kind=memory code=507053 argument=0x10"),
        ("aclnnMm@after=200ms=ecc", "site=task place=aclnnMm after=0.2 kind=memory code=507054"),
        ("task@9=lost", "site=task place=* first=9 last=9 kind=lost code=507010"),
        ("link@rank0-1:3=down", "site=message place=* rank=0 peer=1 first=3 last=3 kind=no_link"),
        ("HcclBroadcast@rank0-1=delay:2s", "site=message place=HcclBroadcast rank=0 peer=1 kind=delay argument=2000"),
        ("link@rank1-0=double", "site=message place=* rank=1 peer=0 kind=twice"),
        ("task@5,restart=any=stop", "site=task place=* first=5 last=5 restart=any kind=stop"),
        ("aclnnMm@step=5,2=hang", "site=task place=aclnnMm step=5 last_step=5 first=2 last=2 kind=hang"),
        ("malloc@rank1:step=3+=oom", "site=malloc place=malloc rank=1 step=3 kind=fail code=207001"),
        ("disk@rank1:3+=full", "site=disk place=* rank=1 first=3 kind=fail"),
        ("version:driver=24.1.0", "site=version place=driver kind=version word=24.1.0"),
    ],
)
def test_an_order_is_read(text: str, fields: str) -> None:
    assert parse(text).fields == dict(one.split("=", 1) for one in fields.split())


@pytest.mark.parametrize(
    ("text", "at", "what"),
    [
        ("aclnnAdd", 8, "no =FAULT"),
        ("malloc@p=0.01", 13, "no =FAULT"),
        ("=507015", 0, "is no place"),
        ("aclnnAdd@=507015", 9, "nothing stands behind the @"),
        ("aclnnAdd@0=507015", 9, "begin at 1"),
        ("aclnnAdd@5-3=507015", 9, "does not go back"),
        ("aclnnAdd@3,soon=507015", 11, "says no time"),
        ("aclnnAdd@3,4=507015", 11, "says again"),
        ("aclnnAdd@p=1.5=507015", 11, "at most 1"),
        ("aclnnAdd@every=0=507015", 9, "is 1 at least"),
        ("aclnnAdd@3=boom", 11, "'boom' is no fault"),
        ("aclnnAdd@3=0", 11, "0 is success"),
        ("aclnnAdd=slow", 9, "how slow"),
        ("aclnnAdd=hang:3", 9, "hang:3 is no fault"),
        ("aclnnAdd=drop", 9, "happens to messages"),
        ("aclnnAdd=oom", 9, "oom is of malloc"),
        ("malloc=507015", 7, "malloc has the faults"),
        ("disk=507015", 5, "disk has the faults"),
        ("link@rank0=drop", 5, "between two ranks"),
        ("link=507015", 5, "a link has the faults"),
        ("link@rank0-1=delay", 13, "how long"),
        ("aclnnAdd@rank0-1=507015", 9, "two ranks are for"),
        ("version:torch=1", 14, "version:cann or version:driver"),
        ("aclnnAdd\t=1", 0, "one line, without tabs"),
    ],
)
def test_a_mistake_is_shown_with_its_place_and_the_grammar(text: str, at: int, what: str) -> None:
    with pytest.raises(OphookError) as told:
        parse(text)
    message, shown, caret = told.value.what.splitlines()
    assert what in message
    assert caret.index("^") - 2 == at, told.value.what
    assert shown.strip() == text.replace("\t", " ")
    assert GRAMMAR in (told.value.allowed or "")


def test_a_file_holds_orders_and_their_seed(tmp_path: Path) -> None:
    file = tmp_path / "night.toml"
    file.write_text('seed = 7\nfaults = ["malloc@p=0.5=oom", "task@p=0.1,seed=3=hang"]\n')
    read = orders([str(file), "aclnnAdd@1=507015"])
    assert [one.fields.get("seed") for one in read] == ["7", "3", None]
    assert lines([str(file)]).count("\n") == 1
    for wrong in ("faults = 3", 'faults = ["a"]', "seed = 1", 'fault = ["aclnnAdd=507015"]', "faults = ["):
        file.write_text(wrong)
        with pytest.raises(OphookError):
            orders([str(file)])
    with pytest.raises(OphookError, match="No such file"):
        orders([str(tmp_path / "none.toml")])
