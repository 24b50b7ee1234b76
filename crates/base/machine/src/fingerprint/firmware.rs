//! Firmware, whose cloud this is, and what feeds the machine.

use crate::fingerprint::recorded::RecordedFacts;
use crate::root::Root;

const DMI: &str = "/sys/class/dmi/id";

pub fn read(root: &Root, facts: &mut RecordedFacts) {
    facts.put("model", model(root));
    facts.put("bios", bios(root));
    facts.put("cloud", cloud(root).map(str::to_owned));
    let efi = root.path("/sys/firmware/efi").exists();
    // A container may hide the folder; then a missing `efi` means nothing.
    let known = root.path("/sys/firmware").exists();
    facts.put("boot_mode", known.then(|| if efi { "UEFI".into() } else { "without UEFI".into() }));
    facts.put("power", power(root).map(str::to_owned));
}

/// The model of a board without DMI.
fn model(root: &Root) -> Option<String> {
    root.text("/proc/device-tree/model").or_else(|| root.field("/proc/cpuinfo", "Model"))
}

fn tag(root: &Root, name: &str) -> Option<String> {
    root.text(&format!("{DMI}/{name}"))
}

/// Vendor, version and date of the firmware.
fn bios(root: &Root) -> Option<String> {
    let parts: Vec<String> = ["bios_vendor", "bios_version", "bios_date"]
        .iter()
        .filter_map(|name| tag(root, name))
        .collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// What clouds write into the firmware of their guests; the instance type, if it is told, is the
/// product. No cloud is asked over the network.
const CLOUDS: [(&str, &str, &str); 16] = [
    ("sys_vendor", "Amazon EC2", "AWS"),
    ("bios_vendor", "Amazon EC2", "AWS"),
    ("product_name", "Google Compute Engine", "Google Cloud"),
    ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "Azure"),
    ("chassis_asset_tag", "OracleCloud.com", "Oracle Cloud"),
    ("sys_vendor", "Hetzner", "Hetzner"),
    ("sys_vendor", "DigitalOcean", "DigitalOcean"),
    ("sys_vendor", "Scaleway", "Scaleway"),
    ("sys_vendor", "Vultr", "Vultr"),
    ("sys_vendor", "Linode", "Linode"),
    ("sys_vendor", "Akamai", "Linode"),
    ("sys_vendor", "Alibaba Cloud", "Alibaba Cloud"),
    ("sys_vendor", "Tencent Cloud", "Tencent Cloud"),
    ("sys_vendor", "OVH", "OVH"),
    ("sys_vendor", "UpCloud", "UpCloud"),
    // Last, because several clouds above run OpenStack.
    ("product_name", "OpenStack", "an OpenStack cloud"),
];

/// Whose cloud this is.
fn cloud(root: &Root) -> Option<&'static str> {
    let (_, _, cloud) = CLOUDS
        .iter()
        .find(|(name, begins, _)| tag(root, name).is_some_and(|tag| tag.starts_with(begins)))?;
    Some(cloud)
}

/// `battery` or `mains`, on machines that have their own battery.
pub fn power(root: &Root) -> Option<&'static str> {
    let base = "/sys/class/power_supply";
    let says = |name: &str, file: &str| root.text(&format!("{base}/{name}/{file}"));
    let supplies = root.names(base);
    // The battery of a mouse is listed too, with its own scope.
    let own = supplies.iter().filter(|name| says(name, "scope").as_deref() != Some("Device"));
    let batteries = own.filter(|name| says(name, "type").as_deref() == Some("Battery"));
    let states: Vec<String> = batteries.filter_map(|name| says(name, "status")).collect();
    let drained = states.iter().any(|state| state == "Discharging");
    (!states.is_empty()).then_some(if drained { "battery" } else { "mains" })
}
