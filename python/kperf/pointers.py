# SPDX-License-Identifier: MIT
"""Names of three tracepoints of the network, and of their fields, for get_field()."""


def _tracepoint(name, event, fields):
    """A class with the event's name, and an attribute for each field."""
    common = 'common_type common_flags common_preempt_count common_pid'
    return type(name, (), {'event_name': event, '__module__': __name__,
                           **{field: field for field in f'{common} {fields}'.split()}})


class PointerEvt:
    """The tracepoints."""

    NetNetifRx = _tracepoint('NetNetifRx', 'net:netif_rx', 'name skbaddr len')
    SkebSkbCopyDatagramIovec = _tracepoint(
        'SkebSkbCopyDatagramIovec', 'skb:skb_copy_datagram_iovec', 'skbaddr len')
    NetApiGroReceiveEntry = _tracepoint('NetApiGroReceiveEntry', 'net:napi_gro_receive_entry', '''
        name napi_id queue_mapping skbaddr vlan_tagged vlan_proto vlan_tci protocol ip_summed hash
        l4_hash len data_len truesize mac_header_valid mac_header nr_frags gso_size gso_type''')
