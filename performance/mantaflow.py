"""A plume in Blender's Mantaflow with its noise up-res and its adaptive domain: the measurement in PERFORMANCE.md.

usage: blender --background --factory-startup -t 2 --python mantaflow.py -- bake DIR RES FRAMES
       blender --background --factory-startup -t 2 --python mantaflow.py -- render OUT.png GRID FRAME.vdb

`bake` solves the plume of mantaflow.toml on RES cells along its height and twice as many for the noise, and prints the processor time of
both passes, the peak of memory and the cells of the domain. `render` renders a grid of an OpenVDB file by Cycles, with z up.
"""
import glob, os, resource, shutil, sys, time

import bpy

args = sys.argv[sys.argv.index("--") + 1:]
for o in list(bpy.data.objects):
    bpy.data.objects.remove(o)
scene = bpy.context.scene


def bake(folder, res, frames):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    scene.render.threads_mode, scene.render.threads = "FIXED", 2
    scene.frame_start, scene.frame_end = 1, frames
    scene.render.fps = 24
    bpy.ops.mesh.primitive_cube_add(size=1, location=(0.5, -0.5, 1.0), scale=(1, 1, 2))
    domain = bpy.context.object
    domain.modifiers.new("Fluid", "FLUID").fluid_type = "DOMAIN"
    d = domain.modifiers["Fluid"].domain_settings
    d.domain_type = "GAS"
    bpy.context.view_layer.update()
    d.resolution_max = res
    for side in ("front", "back", "left", "right", "top"):
        setattr(d, f"use_collision_border_{side}", False)
    d.use_collision_border_bottom = True
    d.use_adaptive_domain, d.adapt_margin, d.adapt_threshold = True, 8, 0.002
    d.use_noise, d.noise_scale, d.noise_strength = True, 2, 1.0
    d.use_dissolve_smoke = False
    d.alpha, d.beta, d.vorticity = 0.0, 1.0, 0.1
    d.cache_resumable = True
    d.cache_data_format, d.openvdb_cache_compress_type = "OPENVDB", "NONE"
    d.cache_frame_start, d.cache_frame_end, d.cache_directory = 1, frames, folder
    bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=4, radius=0.11, location=(0.5, -0.5, 0.2))
    source = bpy.context.object
    source.modifiers.new("Fluid", "FLUID").fluid_type = "FLOW"
    f = source.modifiers["Fluid"].flow_settings
    f.flow_type, f.flow_behavior = "SMOKE", "INFLOW"
    f.density = f.temperature = 1.0
    bpy.context.view_layer.objects.active = domain
    domain.select_set(True)
    d.cache_type = "MODULAR"
    for name, run in (("data", bpy.ops.fluid.bake_data), ("noise", bpy.ops.fluid.bake_noise)):
        wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        run()
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"mantaflow {name}: {cpu:.1f} s of processor time, {time.perf_counter() - wall:.1f} s of wall time, "
              f"peak {after.ru_maxrss // 1024} MB, {len(glob.glob(folder + f'/{name}/*.vdb'))} frames", flush=True)


def render(out, grid, path):
    bpy.ops.object.volume_import(filepath=path, files=[{"name": os.path.basename(path)}], directory=os.path.dirname(path))
    material = bpy.data.materials.new("smoke")
    material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    nodes.clear()
    end, volume = nodes.new("ShaderNodeOutputMaterial"), nodes.new("ShaderNodeVolumePrincipled")
    read, scale = nodes.new("ShaderNodeAttribute"), nodes.new("ShaderNodeMath")
    read.attribute_name = grid
    scale.operation, scale.inputs[1].default_value = "MULTIPLY", 60.0
    volume.inputs["Density Attribute"].default_value = ""
    volume.inputs["Color"].default_value = (0.8, 0.79, 0.77, 1)
    links.new(read.outputs["Fac"], scale.inputs[0])
    links.new(scale.outputs[0], volume.inputs["Density"])
    links.new(volume.outputs[0], end.inputs["Volume"])
    bpy.context.object.data.materials.append(material)
    bpy.ops.object.light_add(type="SUN", rotation=(0.9, 0.0, -1.1))
    bpy.context.object.data.energy = 6.0
    world = bpy.data.worlds.new("sky")
    scene.world, world.use_nodes = world, True
    world.node_tree.nodes["Background"].inputs[0].default_value = (0.05, 0.08, 0.14, 1)
    bpy.ops.object.camera_add(location=(0.5, -4.5, 1.0), rotation=(1.5708, 0, 0))
    scene.camera = bpy.context.object
    scene.camera.data.type, scene.camera.data.ortho_scale = "ORTHO", 2.0
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.use_denoising = 12, False
    scene.cycles.volume_bounces, scene.cycles.volume_step_rate = 2, 1.0
    scene.render.resolution_x, scene.render.resolution_y = 240, 480
    scene.render.filepath = out
    bpy.ops.render.render(write_still=True)


if args[0] == "bake":
    bake(args[1], int(args[2]), int(args[3]))
else:
    render(*args[1:4])
